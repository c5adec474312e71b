import CLinux
import NIOCore

/// A change of an address or a route of this machine, as reported by the kernel (rtnetlink(7)).
///
/// Only changes that may affect a connection: not loopback, multicast, or addresses that cannot be used yet.
struct RouteMessage: Hashable {
  /// The address or route that was added or removed.
  struct Subject: Hashable {
    var isRoute: Bool
    var family: UInt8
    var prefixLength: UInt8
    /// The index of the interface; 0 for none.
    var interface: UInt32
    /// The addresses, each with its attribute type.
    var addresses: [[UInt8]]
  }

  /// Whether it was added or changed; otherwise it was removed.
  var isNew: Bool
  var subject: Subject

  /// Parses the messages of a datagram; skips invalid or truncated ones.
  static func read(_ datagram: ByteBuffer) -> [RouteMessage] {
    var datagram = datagram
    var messages: [RouteMessage] = []
    while let content = datagram.readNetlink(UInt32.self, header: 4) {
      var content = content
      if let message = RouteMessage(&content) { messages.append(message) }
    }
    return messages
  }

  /// - Parameter content: the message after its length.
  private init?(_ content: inout ByteBuffer) {
    guard let type: UInt16 = content.readInteger(endianness: .host), content.readBytes(length: 10) != nil
    else {
      return nil
    }
    switch Int(type) {
    case RTM_NEWADDR, RTM_DELADDR: self.init(address: &content, isNew: Int(type) == RTM_NEWADDR)
    case RTM_NEWROUTE, RTM_DELROUTE: self.init(route: &content, isNew: Int(type) == RTM_NEWROUTE)
    default: return nil
    }
  }

  /// `struct ifaddrmsg`.
  private init?(address content: inout ByteBuffer, isNew: Bool) {
    guard let fields = content.readBytes(length: 4),
      let interface: UInt32 = content.readInteger(endianness: .host),
      Int(fields[3]) != RT_SCOPE_HOST.rawValue
    else { return nil }
    var flags = UInt32(fields[2])
    var addresses: [[UInt8]] = []
    while let (type, value) = content.readAttribute() {
      switch Int(type) {
      case IFA_FLAGS: flags = value.integer ?? flags
      case IFA_ADDRESS, IFA_LOCAL:
        addresses.append([UInt8(truncatingIfNeeded: type)] + value)
      default: break
      }
    }
    // Another message follows when the address can be used.
    if isNew, flags & UInt32(IFA_F_TENTATIVE) != 0 { return nil }
    self.isNew = isNew
    subject = Subject(
      isRoute: false, family: fields[0], prefixLength: fields[1], interface: interface, addresses: addresses)
  }

  /// `struct rtmsg`.
  private init?(route content: inout ByteBuffer, isNew: Bool) {
    guard let fields = content.readBytes(length: 8),
      let flags: UInt32 = content.readInteger(endianness: .host),
      Int(fields[7]) == RTN_UNICAST, Int(fields[4]) != RT_TABLE_LOCAL.rawValue,
      flags & UInt32(RTM_F_CLONED) == 0
    else { return nil }
    var interface: UInt32 = 0
    var addresses: [[UInt8]] = []
    while let (type, value) = content.readAttribute() {
      switch rtattr_type_t(rawValue: UInt32(type)) {
      case RTA_OIF: interface = value.integer ?? interface
      case RTA_DST, RTA_GATEWAY, RTA_PRIORITY, RTA_MULTIPATH,
        RTA_VIA:
        addresses.append([UInt8(truncatingIfNeeded: type)] + value)
      default: break
      }
    }
    self.isNew = isNew
    subject = Subject(
      isRoute: true, family: fields[0], prefixLength: fields[1], interface: interface, addresses: addresses)
  }
}

/// Filters out repetitions: the kernel repeats an entry whenever its lifetime is extended, which happens all day.
struct KnownNetwork {
  /// The maximum number of remembered subjects; the oldest are dropped.
  static let limit = 4096

  private var known: Set<RouteMessage.Subject> = []

  mutating func isNews(_ message: RouteMessage) -> Bool {
    guard message.isNew else {
      known.remove(message.subject)
      return true
    }
    if known.count >= Self.limit { known = [] }
    return known.insert(message.subject).inserted
  }
}

extension ByteBuffer {
  /// Reads a block that starts with its length, and its padding to a multiple of four; returns it without the length.
  fileprivate mutating func readNetlink<Length: FixedWidthInteger>(
    _ type: Length.Type, header: Int
  ) -> ByteBuffer? {
    guard let length = getInteger(at: readerIndex, endianness: .host, as: type).map({ Int($0) }),
      length >= header, var block = readSlice(length: length)
    else { return nil }
    moveReaderIndex(forwardBy: min(readableBytes, (4 - length % 4) % 4))
    block.moveReaderIndex(forwardBy: MemoryLayout<Length>.size)
    return block
  }

  /// `struct rtattr`.
  fileprivate mutating func readAttribute() -> (type: UInt16, value: [UInt8])? {
    guard var block = readNetlink(UInt16.self, header: 4),
      let type: UInt16 = block.readInteger(endianness: .host)
    else { return nil }
    // The two highest bits tell how the value is encoded.
    return (type & 0x3FFF, Array(block.readableBytesView))
  }
}

extension [UInt8] {
  /// The value in host byte order.
  fileprivate var integer: UInt32? {
    count == 4 ? withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) } : nil
  }
}
