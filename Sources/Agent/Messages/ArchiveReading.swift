import AgentStore
import XMPPFeatures

/// What is known of the account's archive at its server.
enum ArchiveSupport {
  case unknown
  case known(Bool)
  case asked(Task<Bool?, Never>)

  /// What an id in the name of the account is worth.
  var ids: ArchiveIDs {
    switch self {
    case .known(true): .confirmed
    case .known(false): .ignored
    case .unknown, .asked: .claimed
    }
  }
}

/// What an id is worth that a live message has in the name of the account's archive (XEP-0359 §5).
enum ArchiveIDs {
  /// The server has given it.
  case confirmed
  /// The server has not said yet whether it gives such ids. The id is stored, and not told; ``MessageArchive`` deletes it from
  /// the store when the server says that there is no archive.
  case claimed
  /// There is no archive: the sender may have written it.
  case ignored
}

/// A page of the archive that is being read.
struct ArchiveReading {
  var page: ArchivePage
  /// What is in it is stored; else only its end is of interest.
  var isKept: Bool
  /// It follows on what is kept: so does everything that is stored of it, also when the rest does not come.
  var isNext = false
  /// With ``isNext``: what was handed to earlier streams is looked for in it.
  var settles = false
  /// What is in it is collected here instead, oldest first.
  var collected: [IncomingMessage]?

  /// What has come of the same page is stored.
  mutating func merge(_ other: ArchiveReading) {
    guard page.id == other.page.id else { return }
    page.merge(other.page)
    collected = other.collected
  }
}
