/// A name with its namespace (Namespaces in XML 1.0 §3). An attribute without prefix has an empty namespace.
public struct XMLName: Hashable, Sendable {
  public var local: String
  public var namespace: String
  public init(_ local: String, _ namespace: String = "") {
    self.local = local
    self.namespace = namespace
  }
}

/// An attribute with its decoded value.
public struct XMLAttribute: Hashable, Sendable {
  public var name: XMLName
  public var value: String
  public init(_ name: XMLName, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The content of an element: elements and text, in order.
public enum XMLNode: Hashable, Sendable {
  case element(XMLElement)
  case text(String)
}

/// An element with its attributes and content, as a value.
public struct XMLElement: Hashable, Sendable {
  /// Most elements contain only text, and then need no array. A single text is always stored as ``text(_:)``.
  enum Content: Hashable, Sendable {
    case nodes([XMLNode])
    case text(String)

    init(_ nodes: [XMLNode]) {
      if nodes.count == 1, case .text(let text) = nodes[0] {
        self = .text(text)
      } else {
        self = .nodes(nodes)
      }
    }
  }

  public var name: XMLName
  public var attributes: [XMLAttribute]
  var content: Content

  /// The direct child elements and texts, in order.
  public var children: [XMLNode] {
    get {
      switch content {
      case .nodes(let nodes): nodes
      case .text(let text): [.text(text)]
      }
    }
    _modify {
      var nodes = children
      content = .nodes([])
      defer { content = Content(nodes) }
      yield &nodes
    }
  }

  public init(name: XMLName, attributes: [XMLAttribute] = [], children: [XMLNode] = []) {
    self.init(name: name, attributes: attributes, content: Content(children))
  }

  init(name: consuming XMLName, attributes: consuming [XMLAttribute], content: consuming Content) {
    self.name = name
    self.attributes = attributes
    self.content = content
  }

  /// Creates an element whose attributes have no namespace. Attributes with a nil value are omitted.
  public init(
    _ local: String, namespace: String, attributes: KeyValuePairs<String, String?> = [:],
    children: [XMLElement] = [], text: String? = nil
  ) {
    name = XMLName(local, namespace)
    self.attributes = attributes.compactMap { key, value in value.map { XMLAttribute(XMLName(key), $0) } }
    var nodes = children.map(XMLNode.element)
    if let text, !text.isEmpty { nodes.append(.text(text)) }
    content = Content(nodes)
  }

  /// The value of the attribute without a namespace; setting it to nil removes the attribute.
  public subscript(_ attribute: String) -> String? {
    get { attributes.first { $0.name.local == attribute && $0.name.namespace.isEmpty }?.value }
    set { self[XMLName(attribute)] = newValue }
  }

  /// The value of an attribute; setting it to nil removes the attribute.
  public subscript(_ attribute: XMLName) -> String? {
    get { attributes.first { $0.name == attribute }?.value }
    set {
      let index = attributes.firstIndex { $0.name == attribute }
      switch (index, newValue) {
      case (let index?, let value?): attributes[index].value = value
      case (let index?, nil): attributes.remove(at: index)
      case (nil, let value?): attributes.append(XMLAttribute(attribute, value))
      case (nil, nil): break
      }
    }
  }

  /// The child elements, in order.
  public var elements: [XMLElement] {
    guard case .nodes(let nodes) = content else { return [] }
    return nodes.compactMap { if case .element(let element) = $0 { element } else { nil } }
  }

  /// The concatenated direct texts.
  public var text: String {
    switch content {
    case .text(let text): text
    case .nodes(let nodes): nodes.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }
    }
  }

  /// The first child element with this name, by default in this element's namespace.
  public func first(_ local: String, _ namespace: String? = nil) -> XMLElement? {
    guard case .nodes(let nodes) = content else { return nil }
    let wanted = namespace ?? name.namespace
    for case .element(let child) in nodes
    where child.name.local == local && child.name.namespace == wanted {
      return child
    }
    return nil
  }

  /// The approximate memory of the element in octets: its texts, and an allowance for every part.
  public var footprint: Int {
    let inside =
      switch content {
      case .text(let text): text.utf8.count
      case .nodes(let nodes):
        nodes.reduce(0) { sum, node in
          switch node {
          case .element(let element): sum + element.footprint
          case .text(let text): sum + MemoryLayout<XMLNode>.stride + text.utf8.count
          }
        }
      }
    return attributes.reduce(MemoryLayout<XMLNode>.stride + name.local.utf8.count + inside) {
      $0 + MemoryLayout<XMLAttribute>.stride + $1.value.utf8.count
    }
  }

  /// Value of `xml:lang`.
  public var language: String? {
    self[XMLName("lang", "http://www.w3.org/XML/1998/namespace")]
  }
}
