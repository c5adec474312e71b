import AgentStore
import XMPPFeatures

/// Whether the account has an archive at its server, as far as this is known.
enum ArchiveSupport {
  case unknown
  case known(Bool)
  case asked(Task<Bool?, Never>)

  /// How far the account's archive IDs in live messages can be trusted.
  var ids: ArchiveIDs {
    switch self {
    case .known(true): .confirmed
    case .known(false): .ignored
    case .unknown, .asked: .claimed
    }
  }
}

/// How far the archive ID that a live message carries in the account's name can be trusted (XEP-0359 §5).
enum ArchiveIDs {
  /// The server assigned the ID.
  case confirmed
  /// The server has not told yet whether it has an archive. The ID is stored but not published; ``MessageArchive``
  /// deletes it when the server turns out to have none.
  case claimed
  /// The account has no archive, so the sender may have forged the ID.
  case ignored
}

/// A page of the archive that is being read.
struct ArchiveReading {
  var page: ArchivePage
  /// Whether the messages of the page are stored; otherwise only its end matters.
  var isKept: Bool
  /// The page continues the stored part of the archive, so each message of it may be stored at once, even if the rest
  /// of the page does not arrive.
  var isNext = false
  /// With ``isNext``: whether the page is searched for messages that were sent over earlier streams.
  var settles = false
  /// The messages of the page, oldest first, where they are collected instead of stored.
  var collected: [IncomingMessage]?

  /// Adds the results of the same page that were stored meanwhile.
  mutating func merge(_ other: ArchiveReading) {
    guard page.id == other.page.id else { return }
    page.merge(other.page)
    collected = other.collected
  }
}
