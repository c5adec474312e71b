import Glibc
import Testing

@testable import XMPPTransport

@Suite("The reserve of file descriptors") struct DescriptorReserveTests {
  @Test("The reserve consists of the last file descriptors below the limit.")
  func last() throws {
    let taken = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 1500)
    try #require(taken >= 1500)
    #expect(!DescriptorReserve.leaves(10, of: taken + 1))
    #expect(!DescriptorReserve.leaves(10, of: taken + 10))
    #expect(DescriptorReserve.leaves(10, of: taken))
    #expect(DescriptorReserve.leaves(10, of: taken + 11))
    #expect(DescriptorReserve.leaves(0, of: taken + 1))
    close(taken)
    #expect(DescriptorReserve.leaves(10, of: taken + 1))
    // Whoever may have fewer than are to be free has too few.
    #expect(!DescriptorReserve.leaves(64, of: 16))
  }
}
