/// How much there is of a child of the root so far, whatever it has on the wire.
struct XMLBreadth {
  private var elements = 0
  private var attributes = 0
  /// Names that libxml2 had before.
  private var knownNames = 0

  /// - Parameter names: those that libxml2 has by now.
  init(names: Int = 0) { knownNames = names }

  /// Counts an element, and a text before it.
  @inline(__always)
  mutating func add(attributes: Int, hasTextBefore: Bool) {
    elements += hasTextBefore ? 2 : 1
    self.attributes += attributes
  }

  func hasTooManyNames(_ names: Int, _ limits: XMLStreamParser.Limits) -> Bool {
    names - knownNames > limits.maximumNames
  }

  /// Why it is too much to be read on, though no part of it is.
  @inline(__always)
  func excess(_ names: Int, _ limits: XMLStreamParser.Limits) -> String? {
    if elements > limits.maximumElements { return "more than \(limits.maximumElements) elements" }
    if attributes > limits.maximumAttributesInAll {
      return "more than \(limits.maximumAttributesInAll) attributes in all"
    }
    return hasTooManyNames(names, limits) ? "more than \(limits.maximumNames) names" : nil
  }
}
