// modules: XMPPXML XMPPStanza

import XMPPStanza

/// Any bytes, read as JID: what is one must be stable under everything that is done with it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJID(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  guard let jid = try? JID(text) else { return 0 }
  precondition((try? JID(jid.description)) == jid, "its description is another JID")
  precondition(
    (try? JID(local: jid.local, domain: jid.domain, resource: jid.resource)) == jid,
    "its parts are another JID")
  precondition((try? JID(jid.asciiDomain))?.domain == jid.domain, "its A-labels are another domain")
  precondition(jid.asciiDomain.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "its A-labels are not ASCII")
  for part in [jid.local, jid.domain, jid.resource] {
    precondition(part.map { 1...1023 ~= $0.utf8.count } ?? true, "a part has a wrong length")
  }
  precondition(1...200 ~= jid.fileName.utf8.count, "its file name is too long")
  precondition(
    jid.fileName.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "/") }, "its file name is unsafe")
  return 0
}
