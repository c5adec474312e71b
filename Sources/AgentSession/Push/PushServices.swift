import AgentProtocol
import AgentStore
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// The push services that the server notifies for this account (XEP-0357).
package struct PushServices {
  let context: SessionContext
  let features: AccountFeatures
  /// The bound stream; nil where the session is not online.
  let stream: BoundSession?

  /// Enables or disables a push service at the server, and stores that.
  package func set(_ parameters: PushMethod.Parameters) async throws(Failure) -> PushMethod.Result {
    guard let stream else {
      throw Failure(.notLoggedIn, stage: .request, detail: .text(context.account.description))
    }
    let service = try JID(given: parameters.service)
    let name = service.description
    let node = parameters.node
    var registration: PushRegistration?
    if parameters.enabled, let node {
      guard let discovery = await features.current(on: stream), PushNotifications.isOffered(in: discovery)
      else {
        throw Failure(.stanzaError, stage: .request, detail: .session(.noPush))
      }
      let known = try await context.accounts.entry(context.account)?.push ?? []
      guard
        known.count < PushRegistration.maximum
          || known.contains(where: { $0.service == name && $0.node == node })
      else {
        throw Failure(
          .invalidParameter, stage: .input, detail: .session(.tooManyPushServices, known.count))
      }
      registration = PushRegistration(
        service: name, node: node, secret: parameters.secret.map { Secret($0) })
    }
    let request =
      registration.map { PushNotifications.enable(service, node: $0.node, secret: $0.secret?.value) }
      ?? PushNotifications.disable(service, node: node)
    let answer: IQ
    do throws(XMPPError) {
      answer = try await stream.request(request, timeout: .bounded(parameters.timeout))
    } catch {
      throw Failure(error)
    }
    // Disabling a service that the server does not know is a success.
    if let error = answer.error, parameters.enabled || error.condition != .itemNotFound {
      throw Failure(error, detail: .session(.refused, error.condition.rawValue))
    }
    try await context.accounts.change(context.account) { [registration] in
      $0.changePush(name, node: node, to: registration)
    }
    return PushMethod.Result(service: name, node: node, enabled: parameters.enabled)
  }

  /// Enables the stored push services in a new session.
  func enable(on stream: BoundSession) async {
    let registrations = (try? await context.accounts.entry(context.account))?.push ?? []
    for registration in registrations {
      guard stream.isCurrent, let service = try? JID(registration.service) else { continue }
      let request = PushNotifications.enable(
        service, node: registration.node, secret: registration.secret?.value)
      if let error = try? await stream.request(request).error {
        context.log.warning(
          "no push notifications",
          metadata: [
            "account": "\(context.account)", "service": "\(service)", "error": "\(error.condition.rawValue)",
          ])
      }
    }
  }
}
