import XMPP
import XMPPClient
import XMPPStanza

/// The message items of a session that are not stored yet, in the order in which they happened.
final class MessageQueue {
  private unowned let session: Session
  private var unstored = UnstoredItems()
  /// Counts the items, so that callers can wait until they are stored.
  private let backlog = Backlog()
  private var isWriting = false
  /// Whether the store has failed and will be tried again after a pause.
  private var isPausing = false
  /// Closed while too many items wait to be stored.
  private let room = Gate()

  init(of session: Session) { self.session = session }

  /// Whether no item waits.
  var isEmpty: Bool { backlog.pending == 0 }

  // MARK: Items

  func append(_ item: MessageItem, of stream: BoundSession) {
    backlog.add()
    unstored.append(item, of: stream)
    guard !isWriting else { return }
    isWriting = true
    session.start { await $0.messages.writer.write() }
  }

  /// Waits while too many items wait to be stored.
  func waitForRoom() async {
    if unstored.hasRoom { return }
    room.close()
    await room.pass()
  }

  /// Returns when every item appended so far is stored.
  func stored() async { await backlog.empty() }

  /// Called when a stream has ended. Returns when its items are stored, so that the next stream knows the number of
  /// handled stanzas, or when the store has failed, for which no session waits.
  func ended(_ stream: BoundSession) async {
    append(.ended, of: stream)
    if isPausing { await removeEnded() } else { await backlog.empty(isReleasable: true) }
  }

  /// Drops all items after the account's messages were deleted.
  func forget() {
    backlog.done(unstored.count)
    unstored = UnstoredItems()
    room.open()
  }

  // MARK: Writing

  /// The next items of one stream, and whether the stream counts stanzas; nil when there are none.
  func next() async -> (items: [MessageItem], stream: BoundSession, isCounted: Bool)? {
    var seen: Int
    repeat {
      seen = unstored.count
      for stream in unstored.streams {
        let isCounted = await stream.stream.management != nil
        let items = unstored.removeNext(of: stream, isCounted: isCounted)
        if !items.isEmpty { return (items, stream, isCounted) }
      }
    } while unstored.count != seen
    isWriting = false
    return nil
  }

  /// Records that this number of items was stored.
  func done(_ count: Int) {
    backlog.done(count)
    room.open()
  }

  /// Puts back items that could not be stored; they are tried again after the pause.
  func failed(_ items: [MessageItem], of stream: BoundSession, pause: Int) async {
    unstored.putBack(items, of: stream)
    await removeEnded()
    if await !stream.stream.isOpen { room.open() }
    isPausing = true
    backlog.release()
    try? await Task.sleep(for: .seconds(pause))
    isPausing = false
  }

  /// Drops the unstored items of ended streams, because the server sends them again.
  private func removeEnded() async {
    for stream in unstored.endedStreams where await stream.stream.management != nil {
      backlog.done(unstored.forget(stream))
    }
  }
}
