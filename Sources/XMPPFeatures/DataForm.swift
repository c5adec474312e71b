import XMPPStanza
import XMPPXML

/// A form of a service that is to be filled in (XEP-0004).
public struct DataForm: Sendable, Equatable {
  /// A field of the form (§3.2).
  public struct Field: Sendable, Equatable {
    /// The type of the answer (§3.3); a type that XEP-0004 does not define is kept, and counts as `text-single`.
    public struct Kind: RawRepresentable, Hashable, Sendable {
      public let rawValue: String
      public init(rawValue: String) { self.rawValue = rawValue }

      public static let boolean = Kind(rawValue: "boolean")
      /// A text of the service, which has no answer.
      public static let fixed = Kind(rawValue: "fixed")
      /// A value that is returned unchanged.
      public static let hidden = Kind(rawValue: "hidden")
      public static let jidMulti = Kind(rawValue: "jid-multi")
      public static let jidSingle = Kind(rawValue: "jid-single")
      public static let listMulti = Kind(rawValue: "list-multi")
      public static let listSingle = Kind(rawValue: "list-single")
      public static let textMulti = Kind(rawValue: "text-multi")
      /// A text that is not displayed while it is typed.
      public static let textPrivate = Kind(rawValue: "text-private")
      public static let textSingle = Kind(rawValue: "text-single")

      /// Whether several values are allowed.
      public var takesMany: Bool { [.jidMulti, .listMulti, .textMulti].contains(self) }
    }

    /// One of the allowed values.
    public struct Option: Sendable, Equatable {
      public var label: String?
      public var value: String
    }

    /// The name of the field: `var`.
    public var name: String
    public var kind: Kind
    public var label: String?
    public var isRequired: Bool
    /// The values that the service proposes, which are also the answer if no other is given.
    public var values: [String]
    public var options: [Option]
    /// URIs of images and sounds that belong to the field (XEP-0221).
    public var media: [String]
  }

  /// The maximum number of fields.
  static let maximumFields = 256

  public var title: String?
  public var instructions: [String]
  public var fields: [Field]

  /// The form in an `<x/>` of a type; nil for another element, and for a form with too many fields.
  public init?(_ element: XMLElement, type: String = "form") {
    guard element.name == XMLName("x", Namespaces.dataForm), element["type"] == type else { return nil }
    let parts = element.elements.filter { $0.name.namespace == Namespaces.dataForm }
    title = parts.first { $0.name.local == "title" }?.text
    instructions = parts.filter { $0.name.local == "instructions" }.map(\.text)
    let fields = parts.filter { $0.name.local == "field" }
    guard fields.count <= Self.maximumFields else { return nil }
    self.fields = fields.compactMap(Field.init)
  }

  /// The purpose of the form: the value of the hidden field `FORM_TYPE` (XEP-0068).
  public var formType: String? {
    fields.first { $0.name == "FORM_TYPE" && $0.kind == .hidden }?.values.first
  }

  /// The form as a result, with its fields and their values (§3.1).
  public var result: XMLElement {
    let fields = fields.map { field in
      XMLElement(
        "field", namespace: Namespaces.dataForm,
        attributes: ["var": field.name, "type": field.kind.rawValue, "label": field.label],
        children: field.values.map { XMLElement("value", namespace: Namespaces.dataForm, text: $0) })
    }
    let title = title.map { [XMLElement("title", namespace: Namespaces.dataForm, text: $0)] } ?? []
    return XMLElement(
      "x", namespace: Namespaces.dataForm, attributes: ["type": "result"], children: title + fields)
  }

  /// The form with `answers` by field name. Fields without an answer have the values that the service proposed (§3.2).
  public func submission(_ answers: [String: [String]]) -> XMLElement {
    let filled = fields.compactMap { field -> XMLElement? in
      let values = answers[field.name] ?? field.values
      guard field.kind != .fixed, !values.isEmpty else { return nil }
      return XMLElement(
        "field", namespace: Namespaces.dataForm,
        attributes: ["var": field.name, "type": field.kind == .hidden ? "hidden" : nil],
        children: values.map { XMLElement("value", namespace: Namespaces.dataForm, text: $0) })
    }
    return XMLElement("x", namespace: Namespaces.dataForm, attributes: ["type": "submit"], children: filled)
  }
}

extension DataForm.Field {
  /// Returns nil for a field without a name, unless it is a fixed text.
  init?(_ element: XMLElement) {
    kind = element["type"].map(Kind.init) ?? .textSingle
    guard let name = element["var"] ?? (kind == .fixed ? "" : nil) else { return nil }
    self.name = name
    label = element["label"]
    isRequired = element.first("required") != nil
    let parts = element.elements.filter { $0.name.namespace == Namespaces.dataForm }
    values = parts.filter { $0.name.local == "value" }.map(\.text)
    options = parts.filter { $0.name.local == "option" }.compactMap { option in
      option.first("value").map { Option(label: option["label"], value: $0.text) }
    }
    media = element.elements.filter { $0.name == XMLName("media", Namespaces.media) }
      .flatMap(\.elements).filter { $0.name.local == "uri" }.map(\.text)
  }
}
