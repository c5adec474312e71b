/// The version of this program. A command asks an agent of another version to make way for one of its own.
public enum Version {
  public static let current = "0.1.0"
}
