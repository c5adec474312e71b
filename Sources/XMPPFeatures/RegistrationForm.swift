import XMPP
import XMPPStanza
import XMPPTransport
import XMPPXML

/// The fields of a registration: a data form, or the older list of fields (XEP-0077 §3.1.1, §4).
public struct RegistrationForm: Sendable, Equatable {
  /// A field of either kind of form.
  public struct Field: Sendable, Equatable {
    public var name: String
    /// The label from the server.
    public var label: String?
    public var isRequired: Bool
    /// Whether the value is not displayed while it is typed.
    public var isSecret = false
    public var takesMany = false
    /// The values that the server proposes.
    public var values: [String] = []
    /// The values to choose from; empty: any value.
    public var options: [String] = []
    /// URIs of the images or sounds to which the field refers (XEP-0158).
    public var media: [String] = []
  }

  /// The server's instructions for the user.
  public var instructions: String?
  public var fields: [Field]
  /// The address at which to register, or at which an image is shown, in a browser (XEP-0066, XEP-0158).
  public var address: String?
  private var form: DataForm?

  private static let noFields: Set = ["instructions", "registered", "x", "key"]
  /// Fields that contain an address and are not questions (XEP-0158 §3).
  private static let addressFields: Set = ["url", "captcha-fallback-url"]

  /// The form in an answer; nil if there is none, or if it has too many fields.
  public init?(_ answer: IQ) {
    guard let query = answer.child, query.name == XMLName("query", Namespaces.register) else { return nil }
    let plain = query.elements.filter { $0.name.namespace == Namespaces.register }
    guard plain.count <= DataForm.maximumFields else { return nil }
    instructions = plain.first { $0.name.local == "instructions" }?.text
    address = (query.first("x", Namespaces.outOfBand)?.first("url")?.text).flatMap(Self.nonempty)
    if let element = query.first("x", Namespaces.dataForm) {
      guard let form = DataForm(element) else { return nil }
      self.form = form
      let words = form.instructions.filter { !$0.isEmpty }.joined(separator: "\n")
      instructions = Self.nonempty(words) ?? instructions
      fields = form.fields.filter { $0.kind != .fixed && $0.kind != .hidden && !Self.isAddress($0) }
        .map(Field.init)
      address = address ?? form.fields.first(where: Self.isAddress)?.values.first.flatMap(Self.nonempty)
    } else {
      // All listed fields are required.
      fields = plain.filter { !Self.noFields.contains($0.name.local) }.map {
        Field(
          name: $0.name.local, isRequired: true, isSecret: $0.name.local == "password",
          values: Self.nonempty($0.text).map { [$0] } ?? [])
      }
    }
  }

  /// The filled form to submit.
  ///
  /// - Parameter answers: The values by field name. Fields without an answer have the values that the server proposed.
  /// - Throws: `invalidParameter` for an answer without a field, for a value that is not among the options, and for
  ///   required fields without a value, all of which the error names; `protocolError` for a form without user name or
  ///   password.
  public func submission(_ answers: [String: [String]]) throws(XMPPError) -> XMLElement {
    try check(answers)
    if let form {
      return XMLElement(
        "query", namespace: Namespaces.register, children: [form.submission(answers)])
    }
    return XMLElement(
      "query", namespace: Namespaces.register,
      children: fields.compactMap { field in
        (answers[field.name] ?? field.values).first.map {
          XMLElement(field.name, namespace: Namespaces.register, text: $0)
        }
      })
  }

  /// The required fields without a value, neither in `answers` nor from the server.
  public func missing(in answers: [String: [String]]) -> [Field] {
    fields.filter { field in
      field.isRequired && (answers[field.name] ?? field.values).allSatisfy(\.isEmpty)
    }
  }

  private func check(_ answers: [String: [String]]) throws(XMPPError) {
    for name in ["username", "password"] where !fields.contains(where: { $0.name == name }) {
      guard let address else {
        throw XMPPError(.protocolError, stage: .request, .says(.noField, name))
      }
      throw XMPPError(.stanzaError, stage: .request, .says(.registerAt, address))
    }
    for (name, values) in answers.sorted(by: { $0.key < $1.key }) {
      guard let field = fields.first(where: { $0.name == name }) else {
        let names = fields.map(\.name).joined(separator: ", ")
        throw Self.invalid(.says(.unaskedField, name, names))
      }
      if values.count > 1 && !field.takesMany { throw Self.invalid(.says(.oneValue, name)) }
      if !field.options.isEmpty && !values.allSatisfy(field.options.contains) {
        throw Self.invalid(.says(.oneOf, name, field.options.joined(separator: ", ")))
      }
    }
    let missing = missing(in: answers)
    if !missing.isEmpty {
      let names = missing.map(\.description).joined(separator: ", ")
      throw Self.invalid(
        address.map { .says(.missingFieldsAt, names, $0) } ?? .says(.missingFields, names))
    }
  }

  private static func isAddress(_ field: DataForm.Field) -> Bool {
    addressFields.contains(field.name) && !field.isRequired && !field.values.isEmpty
  }

  private static func nonempty(_ text: String) -> String? { text.isEmpty ? nil : text }

  private static func invalid(_ reason: ErrorReason) -> XMPPError {
    XMPPError(.invalidParameter, stage: .request, reason)
  }
}

extension RegistrationForm.Field: CustomStringConvertible {
  init(_ field: DataForm.Field) {
    self.init(
      name: field.name, label: field.label, isRequired: field.isRequired,
      isSecret: field.kind == .textPrivate, takesMany: field.kind.takesMany, values: field.values,
      options: field.kind == .boolean ? ["true", "false", "1", "0"] : field.options.map(\.value),
      media: field.media)
  }

  /// The name, with the label from the server.
  public var description: String {
    let words = [label].compactMap { $0 } + media
    return words.isEmpty ? name : "\(name) (\(words.joined(separator: ", ")))"
  }
}
