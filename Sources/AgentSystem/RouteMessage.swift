import CLinux
import NIOCore

/// A change of an address or a route of this machine, as the kernel tells of it (rtnetlink(7)).
///
/// Only what may concern a connection: nothing of loopback, of multicast, of addresses that may not be used yet.
struct RouteMessage: Hashable {
  /// What came or went, whatever else is said of it.
  struct Subject: Hashable {
    var isRoute: Bool
    var family: UInt8
    var prefixLength: UInt8
    /// Index of the interface; 0: none is named.
    var interface: UInt32
    /// The addresses, with the types of their attributes.
    var addresses: [[UInt8]]
  }

  /// It came, or something of it changed; else it went.
  var isNew: Bool
  var subject: Subject

  /// The messages of one datagram. What is none, or is cut off, is passed over.
  static func read(_ datagram: ByteBuffer) -> [RouteMessage] {
    var datagram = datagram
    var messages: [RouteMessage] = []
    while let content = datagram.readNetlink(UInt32.self, header: 4) {
      var content = content
      if let message = RouteMessage(&content) { messages.append(message) }
    }
    return messages
  }

  /// - Parameter content: what follows the length.
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
    // Another message says when it can be used.
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

/// Which messages are news: the kernel repeats what is there when its time is extended, which happens all day long.
struct KnownNetwork {
  /// Subjects that are remembered; of more the oldest knowledge is given up.
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
  /// Reads one block that begins with its own length, and what fills it up to a multiple of four: without the length.
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
    // The two highest bits say how the value is written.
    return (type & 0x3FFF, Array(block.readableBytesView))
  }
}

extension [UInt8] {
  /// In the machine's own order.
  fileprivate var integer: UInt32? {
    count == 4 ? withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) } : nil
  }
}
