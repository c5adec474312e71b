import Glibc

/// Arguments in the form that `posix_spawn(3)` and `execv(3)` require.
enum ArgumentVector {
  static func with<Answer>(
    _ words: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Answer
  ) -> Answer {
    var pointers = words.map { word in word.withCString { strdup($0) } }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers)
  }
}
