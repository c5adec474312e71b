import CLibXML2

/// Turns the bytes of an XML stream into elements, as they arrive (RFC 6120 §4 and §11).
///
/// One parser reads one stream, from its header to its end; a stream restart takes a new parser.
/// It belongs to one event loop. XML that RFC 6120 §11.1 forbids, what is not UTF-8, and what exceeds the
/// ``Limits`` end the stream with an ``XMLStreamError``. White space between stanzas is read and forgotten.
public final class XMLStreamParser {
  /// What was read.
  public enum Event: Sendable, Equatable {
    /// The start tag of the root: the stream header. The element has no children.
    case opened(XMLElement)
    /// A complete child of the root: a stanza, or a step of the negotiation.
    case element(XMLElement)
    /// A child of the root that went beyond the limits and was not kept, and how: its start tag and that of the child
    /// in which the rest was, without what was too much.
    case leftOut(XMLElement, String, octets: Int)
    /// The end tag of the root: the end of the stream.
    case closed
  }

  /// What a peer may make the parser hold. Going beyond is an ``XMLStreamError/Code/limitExceeded``; a child of the root
  /// with too many elements, attributes or names is left out (``Event/leftOut(_:_:octets:)``), and the stream goes on.
  ///
  /// An element takes some 100 octets of memory, an attribute some 50, whatever they have on the wire, and each name that
  /// is new costs the parser more than the one before. A contact list of 20,000 has some 60,000 elements and as many
  /// attributes.
  public struct Limits: Sendable {
    /// Bytes of one child of the root, or of all before the end of the root's start tag.
    public var maximumElementBytes: Int
    /// Bytes of a start tag, a CDATA section or whatever else can only be read as a whole. Checked once per
    /// 16 KiB, so that a little more may pass.
    public var maximumTokenBytes: Int
    /// Elements inside each other, the root included.
    public var maximumDepth: Int
    /// Attributes and namespace declarations of one start tag.
    public var maximumAttributes: Int
    /// Namespace declarations in scope at once.
    public var maximumNamespaces: Int
    /// Elements of one child of the root, and texts between them.
    public var maximumElements: Int
    /// Attributes and namespace declarations of one child of the root.
    public var maximumAttributesInAll: Int
    /// Different names, prefixes and namespaces of one child of the root that those before it did not have.
    public var maximumNames: Int
    /// Not 0: a child of the root is left out also where it goes beyond the limits of depth, of namespaces in scope, of one
    /// tag's attributes or of a token, which may have so many bytes then. 0: that ends the stream.
    public var maximumExcessTokenBytes: Int

    public init(
      maximumElementBytes: Int = 4 << 20, maximumTokenBytes: Int = 64 << 10, maximumDepth: Int = 128,
      maximumAttributes: Int = 256, maximumNamespaces: Int = 256, maximumElements: Int = 1 << 17,
      maximumAttributesInAll: Int = 1 << 17, maximumNames: Int = 1 << 10, maximumExcessTokenBytes: Int = 0
    ) {
      self.maximumElementBytes = maximumElementBytes
      self.maximumTokenBytes = maximumTokenBytes
      self.maximumDepth = maximumDepth
      self.maximumAttributes = maximumAttributes
      self.maximumNamespaces = maximumNamespaces
      self.maximumElements = maximumElements
      self.maximumAttributesInAll = maximumAttributesInAll
      self.maximumNames = maximumNames
      self.maximumExcessTokenBytes = maximumExcessTokenBytes
    }
  }

  private static let libraryIsReady: Void = xmlInitParser()
  private static let sliceBytes = 16 << 10
  /// The longest header that a parser begins again with, in bytes.
  private static let longestHeader = 1 << 10
  /// Bytes that are read of a start tag that is too long.
  private static let shortenedTag = 1 << 10

  /// libxml2's parser, and what it calls.
  private struct Reader {
    let context: xmlParserCtxtPtr
    let builder: UnsafeMutablePointer<XMLTreeBuilder>

    /// nil where there is no memory.
    init?(_ limits: Limits) {
      builder = .allocate(capacity: 1)
      builder.initialize(to: XMLTreeBuilder(limits: limits))
      var handler = XMLTreeBuilder.handler()
      guard let context = xmpp_xml_create(&handler, builder) else {
        builder.deinitialize(count: 1)
        builder.deallocate()
        return nil
      }
      self.context = context
      var options = XML_PARSE_NOENT.rawValue | XML_PARSE_NONET.rawValue
      // What is left out goes beyond libxml2's own limits, too.
      if limits.maximumExcessTokenBytes > 0 { options |= XML_PARSE_HUGE.rawValue }
      xmlCtxtUseOptions(context, Int32(options))
      xmpp_xml_bound_names(context)
      xmpp_xml_use_utf8(context)
      builder.pointee.context = context
    }

    func free() {
      xmpp_xml_free(context)
      builder.deinitialize(count: 1)
      builder.deallocate()
    }

    /// Has libxml2 read on, and gives its status.
    func read(_ bytes: UnsafeRawBufferPointer) -> Int32 {
      xmlParseChunk(context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 0)
    }
  }

  private let limits: Limits
  /// nil while the parser rests.
  private var reader: Reader?
  /// The bytes up to the end of the root's start tag, by which a parser that rested begins again; empty before it has
  /// come, and where it is too long to be kept.
  private var header: [UInt8] = []
  /// What is passed over, up to its end.
  private var skimmed: XMLTreeBuilder.Skimmed?
  /// Where events go while the caller parses.
  private var handler: XMLTreeBuilder.Handler?
  private var isFinished = false
  private var isParsing = false
  /// Bytes that the caller gave, and those of them that libxml2 was given.
  private var fed = 0
  private var parsed = 0
  /// Where in the input the last event ended.
  private var lastEvent = 0

  public init(limits: Limits = Limits()) {
    Self.libraryIsReady
    self.limits = limits
    reader = Reader(limits)
  }

  deinit { reader?.free() }

  /// Bytes given to `parse` since the end of the last event.
  ///
  /// Precise to the byte, while an event is handled as well as afterwards: 0 after `<proceed/>` says that
  /// nothing was smuggled in behind it.
  public var bytesAfterLastEvent: Int { fed - lastEvent }

  /// The default namespace that the root declares: that of its children where they declare none.
  public var contentNamespace: String? { reader?.builder.pointee.contentNamespace }

  /// Gives back its memory, if nothing but the root is open: for a stream that becomes idle.
  ///
  /// The next bytes cost some microseconds more. Does nothing inside a stanza.
  public func rest() {
    guard let reader, !isParsing, !isFinished, !header.isEmpty else { return }
    guard reader.builder.pointee.isBetweenChildren, xmpp_xml_position(reader.context) == parsed else {
      return
    }
    reader.free()
    self.reader = nil
    lastEvent -= fed - header.count
    fed = header.count
  }

  private func recordHeader(_ slice: UnsafeRawBufferPointer, until end: Int?) {
    header += slice.prefix(min(end ?? .max, Self.longestHeader) - header.count)
    if let end, end > Self.longestHeader { header = [] }
  }

  /// The reader, or a new one that has read the header.
  private func wake() throws -> Reader {
    if let reader { return reader }
    let reader = try reopened()
    self.reader = reader
    parsed = header.count
    reader.builder.pointee.handler = handler
    return reader
  }

  /// A new reader that has read the header.
  private func reopened() throws -> Reader {
    guard let reader = Reader(limits) else { throw XMLStreamError(.internalError, "no memory for a parser") }
    _ = header.withUnsafeBytes { reader.read($0) }
    return reader
  }

  /// Reads on, and hands over what is complete.
  ///
  /// Events that were complete before an error are handed over first. After an error, after an error thrown by
  /// `handle`, and after ``Event/closed`` the parser refuses to read on; what follows the end of the stream in
  /// the same call is not looked at. `handle` must not call `parse` itself.
  public func parse(_ bytes: UnsafeRawBufferPointer, _ handle: (Event) throws -> Void) throws {
    try withoutActuallyEscaping(handle) { try parseNow(bytes, $0) }
  }

  private func parseNow(_ bytes: UnsafeRawBufferPointer, _ handle: @escaping (Event) throws -> Void) throws {
    guard !isFinished, !isParsing else { throw XMLStreamError(.finished, "the parser has ended") }
    isParsing = true
    handler = XMLTreeBuilder.Handler { event, end in
      self.lastEvent = end
      try handle(event)
    }
    defer {
      handler = nil
      reader?.builder.pointee.handler = nil
      isParsing = false
    }
    if skimmed == nil { try wake().builder.pointee.handler = handler }
    fed += bytes.count
    do {
      try feed(bytes)
    } catch {
      isFinished = true
      throw error
    }
  }

  private func feed(_ bytes: UnsafeRawBufferPointer) throws {
    var start = 0
    while start < bytes.count, !isFinished {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
      if skimmed != nil {
        start += try skim(rest)
        continue
      }
      let slice = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.sliceBytes))
      start += slice.count
      try read(slice)
    }
  }

  private func read(_ slice: UnsafeRawBufferPointer) throws {
    let reader = try wake()
    let builder = reader.builder
    parsed += slice.count
    let isOpening = builder.pointee.headerEnd == nil
    let status = reader.read(slice)
    if isOpening { recordHeader(slice, until: builder.pointee.headerEnd) }
    let failure = builder.pointee.failure(status: status, parsed: parsed)
    if let thrown = builder.pointee.thrown { throw thrown }
    if let failure { throw failure }
    isFinished = builder.pointee.isClosed
    if let skimmed = builder.pointee.skimmed { try begin(skimmed) }
  }

  // MARK: - What is passed over

  /// libxml2 gives way to the scanner, and gives back what it has not read.
  private func begin(_ skimmed: XMLTreeBuilder.Skimmed) throws {
    guard !header.isEmpty else { throw XMLStreamError(.limitExceeded, skimmed.reason) }
    reader?.free()
    reader = nil
    self.skimmed = skimmed
    var unread = skimmed.unread
    // A carriage return at the end of what it is given libxml2 keeps for later.
    if unread.count < parsed - skimmed.position { unread.append(0x0D) }
    parsed = skimmed.position
    try unread.withUnsafeBytes { unread in
      if skimmed.isTag { self.skimmed?.element = try opening(unread) }
      try feed(unread)
    }
  }

  /// The element that a start tag too long to be read begins; without a name where that is too long.
  private func opening(_ tag: UnsafeRawBufferPointer) throws -> XMLElement {
    var element = XMLElement(name: XMLName(""))
    guard let short = XMLDepthScanner.shortened(tag, to: Self.shortenedTag) else { return element }
    let reader = try reopened()
    defer { reader.free() }
    reader.builder.pointee.handler = XMLTreeBuilder.Handler { event, _ in
      if case .element(let opened) = event { element = opened }
    }
    _ = short.withUnsafeBytes { reader.read($0) }
    return element
  }

  /// Passes over bytes up to the end of the child of the root, and tells how many; with the end another reader begins.
  private func skim(_ bytes: UnsafeRawBufferPointer) throws -> Int {
    guard var skimmed else { return 0 }
    let length = try skimmed.scanner.end(in: bytes)
    parsed += length ?? bytes.count
    let octets = parsed - skimmed.start
    if octets > limits.maximumElementBytes { throw XMLTreeBuilder.elementTooLong(limits) }
    guard length != nil else {
      self.skimmed = skimmed
      return bytes.count
    }
    self.skimmed = nil
    let behind = fed - parsed
    fed = header.count + behind
    lastEvent = header.count
    parsed = header.count
    try handler?.handle(.leftOut(skimmed.element, skimmed.reason, octets: octets), header.count)
    return length ?? 0
  }

  /// Reads on, and returns what is complete; where an error follows, the events before it are lost.
  public func parse(_ bytes: [UInt8]) throws(XMLStreamError) -> [Event] {
    var events: [Event] = []
    do {
      try bytes.withUnsafeBytes { bytes in try parse(bytes) { events.append($0) } }
    } catch let error as XMLStreamError {
      throw error
    } catch {
      throw XMLStreamError(.internalError, "\(error)")
    }
    return events
  }
}
