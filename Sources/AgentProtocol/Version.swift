/// The version of this program. A command replaces a running agent of another version.
public enum Version {
  public static let current = "0.1.0"
}
