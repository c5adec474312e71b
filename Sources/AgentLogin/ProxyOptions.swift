import AgentProtocol
import AgentSystem
import UserCommand
import XMPP
import XMPPTransport

// The proxy in the connection options.

extension ConnectionOptions {
  /// The value that removes a stored proxy.
  static let noProxy = "none"

  /// Throws `invalidParameter` for an invalid proxy, and for a password in its address.
  package func checkProxy() throws(Failure) {
    if let proxy, proxy != Self.noProxy { _ = try Self.address(proxy) }
    if let proxyPasswordCommand { _ = try CredentialCommand(proxyPasswordCommand) }
  }

  /// The proxy settings for a stream: the address, and how to ask for the password.
  ///
  /// Throws `invalidParameter`, also for a password command without a user name.
  func proxySettings() throws(Failure) -> ProxySettings {
    guard let proxy, proxy != Self.noProxy else {
      guard proxyPasswordCommand == nil || proxy == Self.noProxy else {
        throw LoginPlan.invalid(.login(.proxyCommandNeedsProxy))
      }
      return ProxySettings()
    }
    let address = try Self.address(proxy)
    guard let proxyPasswordCommand else { return ProxySettings(address: address) }
    guard address.user != nil else {
      throw LoginPlan.invalid(.login(.proxyCommandNeedsUser))
    }
    return ProxySettings(address: address, passwordCommand: try CredentialCommand(proxyPasswordCommand))
  }

  private static func address(_ url: String) throws(Failure) -> ProxyAddress {
    do { return try ProxyAddress(url) } catch { throw LoginPlan.invalid(FailureDetail(error.reason)) }
  }

  /// These options with the proxy of `other`. Another proxy does not keep the old user and password.
  func withProxy(of other: ConnectionOptions) -> ConnectionOptions {
    var options = self
    if let proxy = other.proxy, proxy != self.proxy {
      options.proxy = proxy == Self.noProxy ? nil : proxy
      options.proxyPasswordCommand = nil
    }
    options.proxyPasswordCommand = other.proxyPasswordCommand ?? options.proxyPasswordCommand
    return options
  }
}

/// The proxy of a stream, if any.
struct ProxySettings: Sendable, Equatable {
  var address: ProxyAddress?
  var passwordCommand: CredentialCommand?

  func apply(to configuration: inout StreamConfiguration) {
    configuration.proxy = address
    guard let passwordCommand else { return }
    configuration.proxyPassword = { () async throws(XMPPError) in
      do throws(Failure) {
        return try await passwordCommand.secret()
      } catch {
        // The failure comes before any connection, and does not concern the account's own secret.
        let stage = error.stage == .input ? XMPPError.Stage.input : .proxy
        throw XMPPError(
          .init(error.name), stage: stage, ErrorReason(error.detail ?? .text("")))
      }
    }
  }
}
