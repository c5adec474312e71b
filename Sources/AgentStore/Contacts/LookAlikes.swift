import GRDB
import XMPPStanza

/// Finds JIDs that can be mistaken for a contact of an account, or for the account itself.
package struct LookAlikes {
  /// JIDs by their confusable skeletons.
  private var originals: [String: String] = [:]
  private let known: Set<String>

  package init(of account: String, _ database: Database) throws {
    let selection = try database.cachedStatement(sql: "SELECT jid FROM contacts WHERE account = ?")
    let jids = try String.fetchAll(selection, arguments: [account]) + [account]
    known = Set(jids)
    for jid in jids {
      if let skeleton = (try? JID(jid))?.skeleton { originals[skeleton] = jid }
    }
  }

  /// The contact or account for which the JID can be mistaken; nil where there is none.
  package func original(of jid: JID) -> String? {
    let name = jid.bare.description
    guard !known.contains(name), let skeleton = jid.skeleton else { return nil }
    return originals[skeleton]
  }
}
