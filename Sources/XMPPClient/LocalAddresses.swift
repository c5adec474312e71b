import NIOCore

/// The addresses of this machine.
public enum LocalAddresses {
  public static func now() -> Set<String> {
    Set(((try? System.enumerateDevices()) ?? []).compactMap { $0.address?.ipAddress })
  }
}
