import COpenSSL
import Glibc

/// The calling thread's queue of OpenSSL errors.
///
/// Whoever calls OpenSSL clears the queue before, so that no old error is taken for a new one, and takes it after.
enum OpenSSLErrors {
  /// Empties the queue and tells its first error, the cause of the others.
  static func drain() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "unknown error" }
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    // System errors have no reason string: they hold an errno.
    let number = ERR_GET_REASON(code)
    return strerror(number).map { String(cString: $0) } ?? "error \(code)"
  }
}
