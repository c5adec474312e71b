import XMPP
import XMPPClient
import XMPPStanza

/// What has happened to the messages of a session and is not stored yet, in the order in which it happened.
final class MessageQueue {
  private unowned let session: Session
  private var unstored = UnstoredItems()
  /// Counts the items, so that one can wait until they are stored.
  private let backlog = Backlog()
  private var isWriting = false
  /// The store has failed, and is tried again after a while.
  private var isPausing = false
  /// Closed while too much is on its way to the disk.
  private let room = Gate()

  init(of session: Session) { self.session = session }

  /// Nothing waits.
  var isEmpty: Bool { backlog.pending == 0 }

  // MARK: What happens

  func append(_ item: MessageItem, of stream: BoundSession) {
    backlog.add()
    unstored.append(item, of: stream)
    guard !isWriting else { return }
    isWriting = true
    session.start { await $0.messages.writer.write() }
  }

  /// Waits while too much is on its way to the disk.
  func waitForRoom() async {
    if unstored.hasRoom { return }
    room.close()
    await room.pass()
  }

  /// Returns when everything that has happened up to now is stored.
  func stored() async { await backlog.empty() }

  /// Nothing comes from the stream any more. Returns when what has come is stored, so that the next stream can say
  /// how far it was; or when the store has failed, for which no session waits.
  func ended(_ stream: BoundSession) async {
    append(.ended, of: stream)
    if isPausing { await removeEnded() } else { await backlog.empty(isReleasable: true) }
  }

  /// Everything is deleted that was stored of the account's messages: nothing of them is stored any more.
  func forget() {
    backlog.done(unstored.count)
    unstored = UnstoredItems()
    room.open()
  }

  // MARK: Writing

  /// The next items of one stream, and whether it counts; nil when there is nothing to do until more come.
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

  /// So many items are stored.
  func done(_ count: Int) {
    backlog.done(count)
    room.open()
  }

  /// The items could not be stored. They are the next ones again, after a while.
  func failed(_ items: [MessageItem], of stream: BoundSession, pause: Int) async {
    unstored.putBack(items, of: stream)
    await removeEnded()
    if await !stream.stream.isOpen { room.open() }
    isPausing = true
    backlog.release()
    try? await Task.sleep(for: .seconds(pause))
    isPausing = false
  }

  /// What could not be stored of streams that have ended comes again.
  private func removeEnded() async {
    for stream in unstored.endedStreams where await stream.stream.management != nil {
      backlog.done(unstored.forget(stream))
    }
  }
}
