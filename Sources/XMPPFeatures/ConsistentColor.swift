import Glibc
import XMPPSASL

/// The colour by which clients show a contact or an occupant, the same on all devices (XEP-0392).
public struct ConsistentColor: Sendable, Equatable {
  /// The hue angle in degrees, from 0 to 360.
  public let angle: Double

  /// - Parameter identifier: The bare JID of a contact, or the nickname of an occupant.
  public init(of identifier: String) {
    let digest = (try? Digest.sha1.hash(Array(identifier.utf8))) ?? [0, 0]
    angle = Double(UInt16(digest[0]) | UInt16(digest[1]) << 8) / 65_536 * 360
  }

  /// Red, green and blue, from 0 to 1, of the colour with full saturation and medium lightness (XEP-0392 §5.2).
  public var rgb: (red: Double, green: Double, blue: Double) {
    let lightness = 50.0
    let radians = angle * .pi / 180
    let chroma = Self.limits(lightness).reduce(Double.infinity) { least, line in
      let length = line.intercept / (sin(radians) - line.slope * cos(radians))
      return length >= 0 ? min(least, length) : least
    }
    let u = cos(radians) * chroma / (13 * lightness) + Self.whiteU
    let v = sin(radians) * chroma / (13 * lightness) + Self.whiteV
    let y = pow((lightness + 16) / 116, 3)
    let x = y * 9 * u / (4 * v)
    let z = y * (12 - 3 * u - 20 * v) / (4 * v)
    let linear = Self.fromXYZ.map { $0[0] * x + $0[1] * y + $0[2] * z }
    return (Self.encode(linear[0]), Self.encode(linear[1]), Self.encode(linear[2]))
  }

  /// The colour in the form `#rrggbb`.
  public var hexadecimal: String {
    let rgb = rgb
    return [rgb.red, rgb.green, rgb.blue].reduce(into: "#") { text, part in
      let octet = String(UInt8((part * 255).rounded()), radix: 16)
      text += octet.count == 1 ? "0" + octet : octet
    }
  }

  // CIELUV's white point D65, and the conversion from XYZ to the primaries of sRGB.
  private static let whiteU = 0.197_830_006_642_83
  private static let whiteV = 0.468_319_994_938_79
  private static let fromXYZ = [
    [3.240_969_941_904_521, -1.537_383_177_570_093, -0.498_610_760_293],
    [-0.969_243_636_280_87, 1.875_967_501_507_72, 0.041_555_057_407_175],
    [0.055_630_079_696_993, -0.203_976_958_888_97, 1.056_971_514_242_878],
  ]

  /// The lines in the plane of u and v beyond which sRGB has no colour of this lightness (HSLuv).
  private static func limits(_ lightness: Double) -> [(slope: Double, intercept: Double)] {
    let luminance = pow(lightness + 16, 3) / 1_560_896
    return fromXYZ.flatMap { row in
      [0.0, 1.0].map { bound in
        let top = (284_517 * row[0] - 94_839 * row[2]) * luminance
        let height =
          (838_422 * row[2] + 769_860 * row[1] + 731_718 * row[0]) * lightness * luminance - 769_860 * bound
          * lightness
        let bottom = (632_260 * row[2] - 126_452 * row[1]) * luminance + 126_452 * bound
        return (top / bottom, height / bottom)
      }
    }
  }

  /// The gamma encoding of sRGB.
  private static func encode(_ linear: Double) -> Double {
    let value = linear <= 0.003_130_8 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055
    return min(1, max(0, value))
  }
}
