/// Contact addresses of a server (XEP-0157), by purpose: `abuse`, `admin`, `security`…
public enum ContactAddresses {
  static let formType = "http://jabber.org/network/serverinfo"
  private static let suffix = "-addresses"

  /// The URIs from the server; empty if there are none.
  public static func addresses(in discovery: ServiceDiscovery) -> [String: [String]] {
    guard let form = discovery.forms.first(where: { $0.formType == formType }) else { return [:] }
    return form.fields.reduce(into: [:]) { addresses, field in
      guard field.name.hasSuffix(suffix), !field.values.isEmpty else { return }
      addresses[String(field.name.dropLast(suffix.count))] = field.values
    }
  }
}
