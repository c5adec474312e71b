/// A message that describes an action of its sender (XEP-0245).
public enum MeCommand {
  /// The action in a body: "laughs" for "/me laughs"; nil for any other body.
  public static func action(in body: String) -> String? {
    // The command is exactly these four characters (§3).
    body.hasPrefix("/me ") ? String(body.dropFirst(4)) : nil
  }
}
