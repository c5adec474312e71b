import Glibc
import NIOCore
import NIOPosix

/// Watches for files in a directory that are replaced, written or deleted (inotify(7)).
package enum DirectoryWatch {
  /// An element for each change; several at once count as one. Ends when the directory is removed or the task
  /// cancelled.
  ///
  /// - Throws: `Errno` where the directory cannot be watched.
  package static func changes(of file: String, in directory: String) throws(Errno) -> AsyncStream<Void> {
    try changes(of: [file], in: directory)
  }

  /// Watches several files.
  package static func changes(of files: Set<String>, in directory: String) throws(Errno) -> AsyncStream<Void>
  {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else { throw .last }
    let mask = UInt32(
      IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
    guard inotify_add_watch(descriptor, directory, mask) >= 0 else {
      let error = Errno.last
      close(descriptor)
      throw error
    }
    let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let channel = NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Reader(files: files, change: change))
        }
      }
      .takingOwnershipOfDescriptor(input: descriptor)
    channel.whenFailure { _ in change.finish() }
    change.onTermination = { _ in channel.whenSuccess { $0.close(promise: nil) } }
    return changes
  }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let files: Set<String>
    private let change: AsyncStream<Void>.Continuation

    init(files: Set<String>, change: AsyncStream<Void>.Continuation) {
      self.files = files
      self.change = change
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var buffer = unwrapInboundIn(data)
      while let event = Event(&buffer) {
        if event.isOver { change.finish() }
        if event.isLost || files.contains(event.name) { change.yield() }
      }
    }

    func channelInactive(context: ChannelHandlerContext) { change.finish() }
  }

  /// `struct inotify_event`: watch, mask, cookie, length, and that number of octets with the name, padded with NULs.
  private struct Event {
    let mask: Int32
    let name: String

    init?(_ buffer: inout ByteBuffer) {
      guard buffer.readInteger(endianness: .host, as: Int32.self) != nil,
        let mask = buffer.readInteger(endianness: .host, as: UInt32.self),
        buffer.readInteger(endianness: .host, as: UInt32.self) != nil,
        let length = buffer.readInteger(endianness: .host, as: UInt32.self),
        let name = buffer.readBytes(length: Int(length))
      else { return nil }
      self.mask = Int32(bitPattern: mask)
      self.name = String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Whether nothing is left to watch.
    var isOver: Bool { mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT) != 0 }
    /// Whether changes came faster than they were read.
    var isLost: Bool { mask & IN_Q_OVERFLOW != 0 }
  }
}
