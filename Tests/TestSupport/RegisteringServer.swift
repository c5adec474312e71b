extension TestServer.Options {
  /// A server where anybody may make an account, as often as tests do.
  public static func registering(_ kind: TestServer.Kind) -> Self {
    var options = Self(kind)
    if kind.rawValue.hasPrefix("prosody") {
      options.extraModules = ["register"]
      options.extraLines = ["allow_registration = true"]
    } else {
      options.extraModules = ["mod_register"]
      options.extraLines = ["registration_timeout: infinity"]
    }
    return options
  }
}
