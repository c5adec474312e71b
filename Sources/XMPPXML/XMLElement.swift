/// A name with its namespace (Namespaces in XML 1.0 §3). The namespace of an unprefixed attribute is empty.
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

/// What an element contains: elements and text, in order.
public enum XMLNode: Hashable, Sendable {
  case element(XMLElement)
  case text(String)
}

/// An element with all it contains: a value.
public struct XMLElement: Hashable, Sendable {
  public var name: XMLName
  public var attributes: [XMLAttribute]
  public var children: [XMLNode]

  public init(name: XMLName, attributes: [XMLAttribute] = [], children: [XMLNode] = []) {
    self.name = name
    self.attributes = attributes
    self.children = children
  }

  /// An element whose attributes have no namespace; those with a nil value are left out.
  public init(
    _ local: String, namespace: String, attributes: KeyValuePairs<String, String?> = [:],
    children: [XMLElement] = [], text: String? = nil
  ) {
    name = XMLName(local, namespace)
    self.attributes = attributes.compactMap { key, value in value.map { XMLAttribute(XMLName(key), $0) } }
    self.children = children.map(XMLNode.element)
    if let text, !text.isEmpty { self.children.append(.text(text)) }
  }

  /// Value of the attribute without a namespace; nil removes it.
  public subscript(_ attribute: String) -> String? {
    get { self[XMLName(attribute)] }
    set { self[XMLName(attribute)] = newValue }
  }

  /// Value of an attribute; nil removes it.
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
    children.compactMap { if case .element(let element) = $0 { element } else { nil } }
  }

  /// The text directly inside, joined.
  public var text: String {
    children.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }
  }

  /// First child element of that name; without a namespace, of this element's own.
  public func first(_ local: String, _ namespace: String? = nil) -> XMLElement? {
    let wanted = namespace ?? name.namespace
    for case .element(let child) in children
    where child.name.local == local && child.name.namespace == wanted {
      return child
    }
    return nil
  }

  /// Value of `xml:lang`.
  public var language: String? {
    self[XMLName("lang", "http://www.w3.org/XML/1998/namespace")]
  }
}
