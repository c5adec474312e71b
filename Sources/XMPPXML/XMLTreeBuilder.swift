import CLibXML2

/// Builds elements from libxml2's SAX2 callbacks, and enforces the limits.
///
/// libxml2 calls the builder through a pointer. No other code may access the builder while it passes on an event.
struct XMLTreeBuilder: ~Copyable {
  private struct OpenElement {
    var name: XMLName
    var attributes: [XMLAttribute]
    var firstChild: Int
    var namespaces: Int
  }

  /// A closure in a structure of its own, because Swift calls an optional closure less directly.
  struct Handler {
    /// Receives an event and the position in the input at which it ended.
    let handle: (XMLStreamParser.Event, Int) throws -> Void
  }

  /// A child of the root whose rest is skipped.
  struct Skimmed {
    var element: XMLElement
    let reason: String
    /// The positions in the input at which the child begins, and at which libxml2 has stopped.
    let start: Int
    let position: Int
    /// The bytes after that position that libxml2 was given.
    let unread: [UInt8]
    /// Whether the unparsed part begins with the child's own start tag.
    var isTag = false
    var scanner: XMLDepthScanner
  }

  /// libxml2's context, which owns the pointer to this builder.
  var context: xmlParserCtxtPtr?
  /// The recipient of events during a call of `parse`.
  var handler: Handler?
  /// The error from `handle`.
  private(set) var thrown: (any Error)?
  /// Whether the root's end tag was read.
  private(set) var isClosed = false
  /// The position in the input at which the root's start tag ended.
  private(set) var headerEnd: Int?

  /// The default namespace that the root declares.
  private(set) var contentNamespace: String?
  /// The child of which libxml2 is to parse no more.
  private(set) var skimmed: Skimmed?

  private let limits: XMLStreamParser.Limits
  private var failure: XMLStreamError?
  /// The root's name as addresses in libxml2's dictionary, which has each spelling once.
  private var rootName: (local: UnsafePointer<xmlChar>?, namespace: UnsafePointer<xmlChar>?)
  private var open = MoveStack<OpenElement>()
  /// The children so far of all open elements; those of the innermost element come last.
  private var nodes = MoveStack<XMLNode>()
  private var text = MoveStack<UInt8>()
  private var names = XMLNameCache()
  private var values = XMLValueCache()
  /// The attributes of the current start tag.
  private var attributes = MoveStack<XMLAttribute>()
  private var namespaces = 0
  /// The counts of the current child of the root.
  private var breadth = XMLBreadth()
  /// Why the current child of the root is dropped.
  private var excess: String?
  /// The start tag of its child that contains the excess.
  private var enclosing: XMLElement?
  /// The number of open elements inside the dropped child that are not in ``open``.
  private var skipped = 0
  /// The position at which the current child of the root begins, or at which the white space before it ended.
  private var start = 0

  init(limits: XMLStreamParser.Limits) {
    self.limits = limits
    rootName = (nil, nil)
  }

  /// The error that ends the stream after libxml2 has returned a status.
  mutating func failure(status: Int32, parsed: Int) -> XMLStreamError? {
    if isClosed || failure != nil || skimmed != nil { return failure }
    guard status == 0, let context else {
      return XMLStreamError(.notWellFormed, "libxml2 error \(status)")
    }
    if parsed - xmpp_xml_position(context) > limits.maximumTokenBytes {
      let reason = "a token of more than \(limits.maximumTokenBytes) bytes"
      guard open.count > 0, limits.maximumExcessTokenBytes > 0 else {
        return XMLStreamError(.limitExceeded, reason)
      }
      skim(excess ?? reason, isInStartTag: false)
    }
    if open.count != 1 && parsed - start > limits.maximumElementBytes { return Self.elementTooLong(limits) }
    return nil
  }

  /// Whether only the root is open.
  var isBetweenChildren: Bool { open.count == 1 && text.count == 0 && failure == nil }

  static func elementTooLong(_ limits: XMLStreamParser.Limits) -> XMLStreamError {
    XMLStreamError(.limitExceeded, "an element of more than \(limits.maximumElementBytes) bytes")
  }

  /// Records the first error and stops libxml2.
  fileprivate mutating func stop(_ error: XMLStreamError) {
    if failure == nil { failure = error }
    xmlStopParser(context)
  }

  @inline(__always)
  private mutating func deliver(_ event: consuming XMLStreamParser.Event, end: Int) {
    do {
      try handler?.handle(event, end)
    } catch {
      thrown = error
      stop(XMLStreamError(.finished, "an event was refused"))
    }
  }

  fileprivate mutating func report(_ code: Int32, _ level: xmlErrorLevel, _ message: UnsafePointer<CChar>?) {
    guard failure == nil, level != XML_ERR_NONE, level != XML_ERR_WARNING else { return }
    // A namespace name that is not a URI is nevertheless accepted.
    if code == XML_WAR_NS_URI.rawValue { return }
    let text = message.map { String(cString: $0) } ?? ""
    let line = String(decoding: text.utf8.prefix(200).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    failure = XMLStreamError(Self.code(code, text), line)
  }

  private static func code(_ code: Int32, _ message: String) -> XMLStreamError.Code {
    switch UInt32(code) {
    case XML_NS_ERR_UNDEFINED_NAMESPACE.rawValue: .badNamespacePrefix
    case XML_ERR_UNDECLARED_ENTITY.rawValue, XML_WAR_UNDECLARED_ENTITY.rawValue: .restrictedXML
    case XML_ERR_UNKNOWN_ENCODING.rawValue, XML_ERR_UNSUPPORTED_ENCODING.rawValue,
      XML_ERR_INVALID_ENCODING.rawValue:
      .unsupportedEncoding
    case XML_ERR_INVALID_CHAR.rawValue where message.hasPrefix("Input is not proper UTF-8"):
      .unsupportedEncoding
    case XML_ERR_NO_MEMORY.rawValue, XML_ERR_NAME_TOO_LONG.rawValue: .limitExceeded
    default: .notWellFormed
    }
  }

  // MARK: - Callbacks

  fileprivate mutating func startDocument() {
    guard let context, let name = xmpp_xml_encoding(context) else { return }
    let encoding = String(
      decoding: UnsafeRawBufferPointer(start: name, count: min(Int(xmlStrlen(name)), 40)), as: UTF8.self)
    if encoding.lowercased() != "utf-8" {
      stop(XMLStreamError(.unsupportedEncoding, "encoding \(encoding)"))
    }
  }

  fileprivate mutating func startElement(
    _ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?,
    declared: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?, declarations: Int, attributeCount: Int,
    attributes fields: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
  ) {
    guard failure == nil, skimmed == nil, let context else { return xmlStopParser(context) }
    let next = xmpp_xml_byte(context)
    // The start tag is incomplete, which libxml2 is about to report.
    guard next == UInt8(ascii: ">") || next == UInt8(ascii: "/") else { return }
    if open.count == 1, local == rootName.local, namespace == rootName.namespace {
      return stop(XMLStreamError(.badFormat, "a second stream header"))
    }
    guard open.count < limits.maximumDepth, attributeCount + declarations <= limits.maximumAttributes,
      namespaces + declarations <= limits.maximumNamespaces, excess == nil
    else {
      return startExcess(local, namespace, attributes: attributeCount + declarations)
    }
    breadth.add(attributes: attributeCount + declarations, hasTextBefore: text.count > 0)
    if let reason = breadth.excess(xmpp_xml_names(context), limits) {
      return skim(reason, isInStartTag: true)
    }
    namespaces += declarations
    if text.count > 0 {
      guard let string = flushText() else { return }
      nodes.append(.text(string))
    }
    guard let attributes = attributes(attributeCount, fields), let place = names.place(local, namespace)
    else {
      return stop(XMLStreamError(.unsupportedEncoding, "invalid UTF-8"))
    }
    if open.count == 0 {
      let end = xmpp_xml_position(context) + (next == UInt8(ascii: "/") ? 2 : 1)
      if end - start > limits.maximumElementBytes { return stop(Self.elementTooLong(limits)) }
      start = end
      headerEnd = end
      for place in 0..<declarations where declared?[2 * place] == nil {
        contentNamespace = declared?[2 * place + 1].flatMap(XMLNameCache.string)
      }
      breadth = XMLBreadth(names: xmpp_xml_names(context))
      rootName = (local, namespace)
      deliver(.opened(XMLElement(name: names[place], attributes: attributes)), end: end)
    }
    open.append(
      OpenElement(
        name: names[place], attributes: attributes, firstChild: nodes.count, namespaces: declarations))
  }

  /// Skips the rest of the current child of the root.
  ///
  /// - Parameter isInStartTag: Whether libxml2 is after the attributes of a start tag; otherwise it is before a tag, or
  ///   in text.
  @inline(never)
  private mutating func skim(_ reason: String, isInStartTag: Bool) {
    guard let context else { return }
    var element = XMLElement(name: XMLName(""))
    if open.count > 1 {
      let parents = open.elements
      if enclosing == nil, open.count > 2 {
        enclosing = XMLElement(name: parents[2].name, attributes: parents[2].attributes)
      }
      let children = enclosing.map { [XMLNode.element($0)] } ?? []
      element = XMLElement(name: parents[1].name, attributes: parents[1].attributes, children: children)
    }
    let place: XMLDepthScanner.Place =
      isInStartTag ? .startTag(isEmpty: false) : xmpp_xml_is_in_cdata(context) != 0 ? .data(0) : .text
    var count = 0
    let unread = UnsafeBufferPointer(start: xmpp_xml_unread(context, &count), count: count)
    skimmed = Skimmed(
      element: element, reason: reason, start: start, position: xmpp_xml_position(context),
      unread: Array(unread), isTag: open.count == 1,
      scanner: XMLDepthScanner(
        at: place, depth: open.count - 1 + skipped,
        maximumTokenBytes: max(limits.maximumTokenBytes, limits.maximumExcessTokenBytes)))
    xmlStopParser(context)
  }

  /// Handles a start tag that exceeds a limit, or that is inside an element that does.
  @inline(never)
  private mutating func startExcess(
    _ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?, attributes: Int
  ) {
    if let excess {
      if let context, breadth.hasTooManyNames(xmpp_xml_names(context), limits) {
        return skim(excess, isInStartTag: true)
      }
      skipped += 1
      return
    }
    let excess =
      if open.count >= limits.maximumDepth {
        "more than \(limits.maximumDepth) elements inside each other"
      } else if attributes > limits.maximumAttributes {
        "more than \(limits.maximumAttributes) attributes"
      } else {
        "more than \(limits.maximumNamespaces) namespaces"
      }
    guard open.count > 0, limits.maximumExcessTokenBytes > 0 else {
      return stop(XMLStreamError(.limitExceeded, excess))
    }
    self.excess = excess
    text.removeAll()
    if open.count > 1 {
      skipped = 1
    } else if let place = names.place(local, namespace) {
      open.append(OpenElement(name: names[place], attributes: [], firstChild: nodes.count, namespaces: 0))
    } else {
      stop(XMLStreamError(.unsupportedEncoding, "invalid UTF-8"))
    }
  }

  private mutating func attributes(
    _ count: Int, _ fields: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
  ) -> [XMLAttribute]? {
    guard count > 0, var field = fields else { return [] }
    for _ in 0..<count {
      guard let local = field[0], let value = field[3], let end = field[4],
        let name = names.place(local, field[2]),
        let text = values.string(UnsafeBufferPointer(start: value, count: end - value))
      else { return nil }
      attributes.append(XMLAttribute(names[name], text))
      field += 5
    }
    return attributes.removeAll(from: 0)
  }

  fileprivate mutating func endElement() {
    guard failure == nil, skimmed == nil, let context else { return xmlStopParser(context) }
    if excess != nil { return endExcess() }
    guard let element = open.removeLast() else { return }
    namespaces -= element.namespaces
    if open.count == 0 {
      isClosed = true
      deliver(.closed, end: xmpp_xml_position(context))
      return xmlStopParser(context)
    }
    let content: XMLElement.Content
    if text.count > 0 {
      guard let string = flushText() else { return }
      if nodes.count == element.firstChild {
        content = .text(string)
      } else {
        nodes.append(.text(string))
        content = .nodes(nodes.removeAll(from: element.firstChild))
      }
    } else {
      content = .nodes(nodes.removeAll(from: element.firstChild))
    }
    let complete = XMLElement(name: element.name, attributes: element.attributes, content: content)
    if open.count > 1 {
      nodes.append(.element(complete))
    } else {
      finish(.element(complete), at: xmpp_xml_position(context))
    }
  }

  /// Ends an element in which something was dropped: only its start tag remains.
  @inline(never)
  private mutating func endExcess() {
    guard skipped == 0 else {
      skipped -= 1
      return
    }
    guard let element = open.removeLast(), let context, let excess else { return }
    namespaces -= element.namespaces
    _ = nodes.removeAll(from: element.firstChild)
    let children = enclosing.map { [XMLNode.element($0)] } ?? []
    let rest = XMLElement(name: element.name, attributes: element.attributes, content: .nodes(children))
    if open.count == 2 { enclosing = rest }
    guard open.count == 1 else { return }
    self.excess = nil
    enclosing = nil
    let end = xmpp_xml_position(context)
    finish(.leftOut(rest, excess, octets: end - start), at: end)
  }

  /// Passes on a child of the root.
  @inline(__always)
  private mutating func finish(_ event: consuming XMLStreamParser.Event, at end: Int) {
    if end - start > limits.maximumElementBytes { return stop(Self.elementTooLong(limits)) }
    start = end
    if let context { breadth = XMLBreadth(names: xmpp_xml_names(context)) }
    deliver(event, end: end)
  }

  fileprivate mutating func characters(_ bytes: UnsafePointer<xmlChar>, _ count: Int) {
    guard failure == nil, skimmed == nil, let context else { return xmlStopParser(context) }
    if excess != nil { return }
    let bytes = UnsafeBufferPointer(start: bytes, count: count)
    if open.count > 1 { return text.append(bytes) }
    guard bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }) else {
      return stop(XMLStreamError(.badFormat, "text between stanzas"))
    }
    start = xmpp_xml_position(context)
    if xmpp_xml_is_ahead(context, bytes.baseAddress) != 0 { start += count }
  }

  /// Returns the text since the last tag, and clears it; stops the stream and returns nil if it is not UTF-8.
  private mutating func flushText() -> String? {
    defer { text.removeAll() }
    if let string = String(utf8: text.elements) { return string }
    stop(XMLStreamError(.unsupportedEncoding, "invalid UTF-8"))
    return nil
  }

  fileprivate mutating func restricted(_ what: String) {
    stop(XMLStreamError(.restrictedXML, what))
  }

  /// The callbacks. They use only SAX2, so that libxml2 builds no document.
  static func handler() -> xmlSAXHandler {
    var handler = xmlSAXHandler()
    handler.initialized = XML_SAX2_MAGIC
    handler.startDocument = { builder($0).pointee.startDocument() }
    handler.startElementNs = { context, local, _, namespace, declarations, declared, count, _, attributes in
      guard let local else { return }
      builder(context).pointee.startElement(
        local, namespace, declared: declared, declarations: Int(declarations), attributeCount: Int(count),
        attributes: attributes)
    }
    handler.endElementNs = { context, _, _, _ in builder(context).pointee.endElement() }
    // With the same function for all three, libxml2 does not search for ignorable white space.
    let characters: charactersSAXFunc = {
      guard let bytes = $1 else { return }
      builder($0).pointee.characters(bytes, Int($2))
    }
    handler.characters = characters
    handler.ignorableWhitespace = characters
    handler.cdataBlock = characters
    handler.comment = { context, _ in builder(context).pointee.restricted("a comment") }
    handler.processingInstruction = { context, _, _ in
      builder(context).pointee.restricted("a processing instruction")
    }
    handler.internalSubset = { context, _, _, _ in builder(context).pointee.restricted("a document type") }
    handler.reference = { context, _ in builder(context).pointee.restricted("an entity") }
    handler.serror = { context, error in
      guard let context, let error = error?.pointee else { return }
      builder(context).pointee.report(error.code, error.level, error.message)
    }
    return handler
  }
}

/// The builder in libxml2's user data, which is always set.
private func builder(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<XMLTreeBuilder> {
  context.unsafelyUnwrapped.assumingMemoryBound(to: XMLTreeBuilder.self)
}
