import CLibXML2

/// Parses the bytes of an XML stream into elements as they arrive (RFC 6120 §4 and §11).
///
/// A parser reads one stream, from its header to its end; a stream restart requires a new parser. It is confined to one
/// event loop. XML that RFC 6120 §11.1 forbids, invalid UTF-8, and anything beyond the ``Limits`` ends the stream with
/// an ``XMLStreamError``. White space between stanzas is ignored.
public final class XMLStreamParser {
  /// A part of the stream.
  public enum Event: Sendable, Equatable {
    /// The start tag of the root: the stream header. The element has no children.
    case opened(XMLElement)
    /// A complete child of the root: a stanza, or a negotiation element.
    case element(XMLElement)
    /// A child of the root that exceeded the limits and was dropped, and the reason. The element has its start tag, and
    /// as its child the start tag of the one that contained the excess, without the excess itself.
    case leftOut(XMLElement, String, octets: Int)
    /// The end tag of the root: the end of the stream.
    case closed
  }

  /// The limits on what a peer can make the parser store. Exceeding one is an ``XMLStreamError/Code/limitExceeded``. A
  /// child of the root with too many elements, attributes or names is dropped (``Event/leftOut(_:_:octets:)``), and the
  /// stream continues.
  ///
  /// An element takes some 100 octets of memory and an attribute some 50, regardless of their size on the wire. Each
  /// new name costs the parser more than the one before. A contact list of 20,000 contacts has some 60,000 elements and
  /// as many attributes.
  public struct Limits: Sendable {
    /// The maximum bytes of a child of the root, or of everything before the end of the root's start tag.
    public var maximumElementBytes: Int
    /// The maximum bytes of a start tag, a CDATA section or another token that has to be complete to be parsed. It is
    /// checked once for every 16 KiB, so that slightly more may pass.
    public var maximumTokenBytes: Int
    /// The maximum depth of nested elements, including the root.
    public var maximumDepth: Int
    /// The maximum number of attributes and namespace declarations of a start tag.
    public var maximumAttributes: Int
    /// The maximum number of namespace declarations in scope at the same time.
    public var maximumNamespaces: Int
    /// The maximum number of elements, and texts between them, in a child of the root.
    public var maximumElements: Int
    /// The maximum number of attributes and namespace declarations in a child of the root.
    public var maximumAttributesInAll: Int
    /// The maximum number of new names, prefixes and namespaces in a child of the root.
    public var maximumNames: Int
    /// If not 0, a child of the root is also dropped if it exceeds the limits of depth, of namespaces in scope, of a
    /// tag's attributes or of a token, and this is the maximum bytes of a token. If 0, such a child ends the stream.
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
  /// The maximum bytes of a header with which a rested parser can begin again.
  private static let longestHeader = 1 << 10
  /// The number of bytes that are parsed of a start tag that is too long.
  private static let shortenedTag = 1 << 10

  /// libxml2's parser, and the builder that it calls.
  private struct Reader {
    let context: xmlParserCtxtPtr
    let builder: UnsafeMutablePointer<XMLTreeBuilder>

    /// Returns nil if there is no memory.
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
      // Elements that are to be dropped may also exceed libxml2's own limits.
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

    /// Makes libxml2 parse these bytes, and returns its status.
    func read(_ bytes: UnsafeRawBufferPointer) -> Int32 {
      xmlParseChunk(context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 0)
    }
  }

  private let limits: Limits
  /// Nil while the parser rests.
  private var reader: Reader?
  /// The bytes up to the end of the root's start tag, with which a rested parser begins again. Empty before they have
  /// arrived, and if they are too long.
  private var header: [UInt8] = []
  /// The child of the root that is being skipped.
  private var skimmed: XMLTreeBuilder.Skimmed?
  /// The recipient of events during a call of `parse`.
  private var handler: XMLTreeBuilder.Handler?
  private var isFinished = false
  private var isParsing = false
  /// The number of bytes from the caller, and the number of those that were passed to libxml2.
  private var fed = 0
  private var parsed = 0
  /// The position in the input at which the last event ended.
  private var lastEvent = 0

  public init(limits: Limits = Limits()) {
    Self.libraryIsReady
    self.limits = limits
    reader = Reader(limits)
  }

  deinit { reader?.free() }

  /// The number of bytes passed to `parse` since the end of the last event.
  ///
  /// The number is exact, even while an event is handled: 0 after `<proceed/>` proves that nothing was injected after
  /// it.
  public var bytesAfterLastEvent: Int { fed - lastEvent }

  /// The default namespace that the root declares, which its children inherit.
  public var contentNamespace: String? { reader?.builder.pointee.contentNamespace }

  /// Releases the parser's memory if only the root is open. Use it when a stream becomes idle.
  ///
  /// The next bytes then take some microseconds longer. Does nothing inside a stanza.
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

  /// The reader, or a new one that has parsed the header.
  private func wake() throws -> Reader {
    if let reader { return reader }
    let reader = try reopened()
    self.reader = reader
    parsed = header.count
    reader.builder.pointee.handler = handler
    return reader
  }

  /// A new reader that has parsed the header.
  private func reopened() throws -> Reader {
    guard let reader = Reader(limits) else { throw XMLStreamError(.internalError, "no memory for a parser") }
    _ = header.withUnsafeBytes { reader.read($0) }
    return reader
  }

  /// Parses bytes, and passes complete events to `handle`.
  ///
  /// Events before an error are passed first. After an error, an error from `handle`, or ``Event/closed``, the parser
  /// accepts no more input; bytes after the end of the stream in the same call are ignored. `handle` must not call
  /// `parse`.
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

  /// Replaces libxml2 by the scanner, and continues with the bytes that libxml2 has not parsed.
  private func begin(_ skimmed: XMLTreeBuilder.Skimmed) throws {
    guard !header.isEmpty else { throw XMLStreamError(.limitExceeded, skimmed.reason) }
    reader?.free()
    reader = nil
    self.skimmed = skimmed
    var unread = skimmed.unread
    // libxml2 holds back a carriage return at the end of its input.
    if unread.count < parsed - skimmed.position { unread.append(0x0D) }
    parsed = skimmed.position
    try unread.withUnsafeBytes { unread in
      if skimmed.isTag { self.skimmed?.element = try opening(unread) }
      try feed(unread)
    }
  }

  /// The element of a start tag that is too long to be parsed; without a name if the name is too long.
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

  /// Skips bytes up to the end of the child of the root, and returns their number. After the end, a new reader begins.
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

  /// Parses bytes and returns complete events. If there is an error, the events before it are lost.
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
