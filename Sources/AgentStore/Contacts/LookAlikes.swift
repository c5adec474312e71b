import GRDB
import XMPPStanza

/// Whom one could take for a contact of an account, or for the account itself.
package struct LookAlikes {
  /// JIDs by what they look like.
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

  /// The contact, or the account, that the JID looks like and is not.
  package func original(of jid: JID) -> String? {
    let name = jid.bare.description
    guard !known.contains(name), let skeleton = jid.skeleton else { return nil }
    return originals[skeleton]
  }
}
