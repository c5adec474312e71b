// Answers each chat message with its own text, and reconnects after a restart of the server:
//     printf 'secret\n' | swift run EchoBot bot@example.org [HOST PORT CA-FILE]
import XMPP
import XMPPClient
import XMPPSASL
import XMPPStanza

let arguments = Array(CommandLine.arguments.dropFirst())
let jid = try JID(arguments[0])
let credentials = SASLCredentials(authcid: jid.local ?? "", password: Secret(readLine() ?? ""))
var configuration = StreamConfiguration(account: jid, credentials: credentials)
if arguments.count == 4 {
  configuration.host = arguments[1]
  configuration.port = Int(arguments[2])
  configuration.caFile = arguments[3]
}
var handlers = StanzaHandlers()
handlers.onSession { session in
  if !session.isResumed { try await session.send([Presence().element]) }
}
handlers.onMessage { message, session in
  guard message.type == .chat, let body = message.body, let sender = message.from else { return }
  try await session.send([Message(type: .chat, to: sender, body: body).element])
}
try await XMPPClient(ClientConfiguration(configuration, handlers: handlers)).run()
