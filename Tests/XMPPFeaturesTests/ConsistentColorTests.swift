import Testing
import XMPPFeatures

@Suite("Consistent colours")
struct ConsistentColorTests {
  @Test(
    "The angle and the colour are those of the test vectors of XEP-0392.",
    arguments: [
      ("Romeo", 327.255249, [0.865, 0.000, 0.686]),
      ("juliet@capulet.lit", 209.410400, [0.000, 0.515, 0.573]),
      ("😺", 331.199341, [0.872, 0.000, 0.659]), ("council", 359.994507, [0.918, 0.000, 0.394]),
      ("Board", 171.430664, [0.000, 0.527, 0.457]),
    ] as [(String, Double, [Double])])
  func vectors(identifier: String, angle: Double, rgb: [Double]) {
    let color = ConsistentColor(of: identifier)
    #expect(abs(color.angle - angle) < 0.000_001)
    for (part, expected) in zip([color.rgb.red, color.rgb.green, color.rgb.blue], rgb) {
      #expect(abs(part - expected) < 0.001)
    }
  }

  @Test("A colour is written with two hexadecimal digits for each part.")
  func hexadecimal() {
    #expect(ConsistentColor(of: "Romeo").hexadecimal == "#dd00af")
    #expect(ConsistentColor(of: "juliet@capulet.lit").hexadecimal == "#008392")
  }
}
