/// A message that tells what its sender does (XEP-0245).
public enum MeCommand {
  /// What is done, where the body says so: "/me laughs" gives "laughs"; nil for every other body.
  public static func action(in body: String) -> String? {
    // The command is these four characters exactly (§3).
    body.hasPrefix("/me ") ? String(body.dropFirst(4)) : nil
  }
}
