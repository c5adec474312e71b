import AgentProtocol

/// The key of everything that belongs to an account: its normalised bare JID (RFC 7622 §3).
public enum BareJID {
  public static func normalise(_ spelling: String) throws(Failure) -> String { try parts(spelling).bare }

  static func parts(_ spelling: String) throws(Failure) -> (bare: String, domain: String) {
    let bare = spelling.split(separator: "/", maxSplits: 1).first.map { $0.lowercased() } ?? ""
    guard let domain = bare.split(separator: "@").last, bare.contains("@") else {
      throw Failure(.invalidParameter, stage: .input, detail: spelling)
    }
    return (bare, String(domain))
  }
}
