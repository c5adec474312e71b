// A complete XMPP client with the library `XMPP`: it logs in, sends presence, prints what it receives, and logs out.
//
//     printf 'secret' | swift run PresenceMonitor alice@example.org --seconds 30
//
// Other packages add `.product(name: "XMPP", package: "imctl")` to their target's dependencies.

import ArgumentParser
import XMPP
import XMPPSASL
import XMPPStanza

@main
struct PresenceMonitor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Go online and print the presence and messages of others; the password is a line of standard input.")

  @Argument(help: "The account, such as alice@example.org.")
  var account: String

  @Option(help: "What others read beside the presence.")
  var status = "watching"

  @Option(help: "Leave after this many seconds.")
  var seconds = 30

  @Option(help: "Leave after this many messages.")
  var messages = Int.max

  @Option(help: "Connect here instead of asking the DNS.")
  var host: String?

  @Option(help: "The port of that host.")
  var port: Int?

  @Option(help: "PEM file of the authorities to trust instead of the system's.")
  var caFile: String?

  func run() async throws {
    guard let password = readLine() else { throw ValidationError("No password on standard input.") }
    let jid = try JID(account)
    let credentials = SASLCredentials(authcid: jid.local ?? "", password: Secret(password))
    var configuration = StreamConfiguration(account: jid, credentials: credentials)
    configuration.host = host
    configuration.port = port
    configuration.caFile = caFile

    let stream = XMPPStream(configuration)
    let bound = try await stream.connect()
    print("online as \(bound.jid), \(bound.mechanism.rawValue), \(bound.roundTrips) round trips")
    try await stream.send([Presence(status: status).element])

    // Closing the stream ends the loop below.
    let alarm = Task {
      try await Task.sleep(for: .seconds(seconds))
      await leave(stream)
    }
    defer { alarm.cancel() }

    var received = 0
    for await event in stream.events {
      switch event {
      case .presence(let presence):
        let show = presence.type?.rawValue ?? presence.show?.rawValue ?? "available"
        print("presence", name(presence.from), show, quoted(presence.status))
      case .message(let message):
        print("message", name(message.from), quoted(message.body))
        received += 1
        if received == messages { await leave(stream) }
      case .closed(let error?): throw error
      case .step, .request, .answer, .marked, .leftOut, .acknowledged, .received, .closed: break
      }
    }
  }

  private func leave(_ stream: XMPPStream) async {
    await stream.close(sending: [Presence(type: .unavailable).element])
  }

  private func name(_ sender: JID?) -> String { sender?.description ?? account }

  /// Escapes invisible characters, because text from others must not control the terminal.
  private func quoted(_ text: String?) -> String {
    let visible = (text ?? "").unicodeScalars.map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: scalar.escaped(asASCII: true)
      default: String(scalar)
      }
    }
    return "\"" + visible.joined() + "\""
  }
}
