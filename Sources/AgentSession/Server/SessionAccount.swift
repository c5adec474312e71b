import AgentLogin
import AgentProtocol
import AgentStore
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza

// Changing the password of the session's account, and deleting the account.

extension Session {
  /// Changes the password. If the server ends the session, it reconnects with the new password.
  package func changePassword(
    _ parameters: AccountPasswdMethod.Parameters
  ) async throws(Failure) -> AccountPasswdMethod.Result {
    try await inTurn { session async throws(Failure) in
      let new = Secret(parameters.newPassword)
      if parameters.currentPassword == nil, let stream = session.online?.stream {
        try await Failure.whenRefused { () async throws(XMPPError) in
          try await Registration.changePassword(
            of: session.account, to: new.value, on: stream, timeout: .bounded(parameters.timeout))
        }
      } else {
        try await session.atServer(parameters).changePassword(to: new)
      }
      // The server may end the session as soon as it has the new password.
      session.passwordChanged(to: new)
      let keys = try await session.atServer(parameters, password: new).keysToKeep(of: new)
      return try await session.accounts.passwordChanged(
        of: session.account, to: new, command: parameters.newPasswordCommand, keys: keys)
    }
  }

  /// Deletes the account at the server, then the session and the stored data.
  package func delete(_ parameters: AccountDeleteMethod.Parameters) async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      let running = session.online
      session.online?.accountDeletionBegan()
      do throws(Failure) {
        if parameters.currentPassword == nil, let stream = running?.stream {
          try await Failure.whenRefused { () async throws(XMPPError) in
            try await Registration.cancel(on: stream, timeout: .bounded(parameters.timeout))
          }
        } else {
          try await session.atServer(parameters).deleteAtServer()
        }
      } catch {
        session.online?.accountDeletionFailed()
        // The end of the stream was not handled during the request.
        if let running, session.online == nil { await session.lost(running, error) }
        throw error
      }
      session.reconnection.loggedOut()
      await session.closeStreams()
      session.published.forgetDataReady()
      try await session.accounts.remove(session.account)
      try await session.messages.forget()
      session.presence.restore(PresenceIntent())
    }
  }

  /// - Parameter password: the one to log in with, where it is not the given one or the session's own.
  private func atServer(
    _ parameters: some OwnStreamParameters, password: Secret? = nil
  ) async throws(Failure) -> AccountAtServer {
    let given = password ?? parameters.currentPassword.map { Secret($0) }
    return try await AccountAtServer(
      account.description, password: given ?? activePlan?.credential.password, options: parameters.options,
      timeout: parameters.timeout, in: accounts, language: language)
  }
}
