import AgentProtocol
import AgentSession

extension MethodTable {
  /// Registers the methods for the devices of an account and the push services.
  mutating func registerDevices(_ registry: SessionRegistry) {
    register(DevicesListMethod.self, of: registry) { session, parameters in
      try await session.devices.list(parameters)
    }
    register(DevicesSelfMethod.self, of: registry) { session, parameters in
      try await session.devices.own(parameters)
    }
    register(DevicesPolicyMethod.self, of: registry) { session, parameters in
      try await session.devices.policy(parameters)
    }
    register(DevicesKickMethod.self, of: registry) { session, parameters in
      try await session.devices.kick(parameters)
    }
    register(submission: DevicesSendMethod.self) { parameters, _ in
      let sending = try await registry.storedSession(parameters.account).perform { session in
        try await session.devices.send(parameters)
      }
      return {
        guard let outcome = await sending.outcome().first else {
          throw Failure(.internalError, stage: .request)
        }
        return outcome
      }
    }
    register(PushMethod.self, of: registry) { session, parameters in
      try await session.push.set(parameters)
    }
  }
}
