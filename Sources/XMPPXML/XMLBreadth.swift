/// Counts the parts of a child of the root, regardless of its size on the wire.
struct XMLBreadth {
  private var elements = 0
  private var attributes = 0
  /// The number of names that libxml2 knew before this child.
  private var knownNames = 0

  /// - Parameter names: The number of names that libxml2 knows now.
  init(names: Int = 0) { knownNames = names }

  /// Counts an element, and the text before it if there is one.
  @inline(__always)
  mutating func add(attributes: Int, hasTextBefore: Bool) {
    elements += hasTextBefore ? 2 : 1
    self.attributes += attributes
  }

  func hasTooManyNames(_ names: Int, _ limits: XMLStreamParser.Limits) -> Bool {
    names - knownNames > limits.maximumNames
  }

  /// The limit that the child as a whole exceeds; nil if it exceeds none.
  @inline(__always)
  func excess(_ names: Int, _ limits: XMLStreamParser.Limits) -> String? {
    if elements > limits.maximumElements { return "more than \(limits.maximumElements) elements" }
    if attributes > limits.maximumAttributesInAll {
      return "more than \(limits.maximumAttributesInAll) attributes in all"
    }
    return hasTooManyNames(names, limits) ? "more than \(limits.maximumNames) names" : nil
  }
}
