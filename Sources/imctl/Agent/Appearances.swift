import AgentProtocol

/// The names and colours of contacts and rooms, which a one-time agent reads from the local store.
///
/// Each JID is asked for once. Where the store cannot be read, JIDs are shown instead of names.
final class Appearances {
  private struct Key: Hashable {
    var account: String?
    var jid: String
  }

  private let deadline: () -> Deadline
  private var appearances: [Key: Appearance] = [:]

  init(until deadline: @escaping @autoclosure () -> Deadline) { self.deadline = deadline }

  /// The appearance of a bare JID, or of the full JID of an occupant.
  func of(_ jid: String, account: String?) -> Appearance {
    load([jid], account: account)
    return known(jid, account: account)
  }

  /// Asks for the appearances of JIDs that are not yet known. After a failure, they are shown plainly, so that output
  /// waits for a store that cannot be read only once.
  func load(_ jids: [String], account: String?) {
    let missing = Array(Set(jids.filter { appearances[Key(account: account, jid: $0)] == nil }))
    let size = AppearancesMethod.maximumJIDs
    for start in stride(from: 0, to: missing.count, by: size) {
      let jids = Array(missing[start...].prefix(size))
      let found = try? OneTimeAgent.ask(
        AppearancesMethod.self, .init(account: account, jids: jids), until: deadline())
      for appearance in found ?? jids.map(Self.plain) {
        appearances[Key(account: account, jid: appearance.jid)] = appearance
      }
    }
  }

  /// The same, but only if the output has colours, for values that contain the names.
  func loadColors(of jids: [String], account: String?, _ output: OutputOptions) {
    if !output.json, output.style.colors != .none { load(jids, account: account) }
  }

  /// The appearance if it was loaded, otherwise a plain JID.
  func known(_ jid: String, account: String?) -> Appearance {
    appearances[Key(account: account, jid: jid)] ?? Self.plain(jid)
  }

  private static func plain(_ jid: String) -> Appearance { Appearance(jid: jid, name: nil, color: "") }

  /// Forgets an appearance, since the contact was changed.
  func forget(_ jid: String, account: String?) { appearances[Key(account: account, jid: jid)] = nil }
}
