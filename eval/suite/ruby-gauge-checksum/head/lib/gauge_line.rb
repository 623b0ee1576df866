# frozen_string_literal: true

# A line as the river gauges send it: `$G07,L=184,T=12.5*7D`, i.e. the gauge's
# number, its values (L: level in cm, T: water temperature in °C) and the
# checksum: all bytes between `$` and `*` combined with exclusive or, in hex.
#
# Gauges with the first firmware send no checksum.
class GaugeLine
  class Malformed < StandardError; end

  FORMAT = /\A
    \$(?<body>G(?<number>\d{2})(?<values>(?:,[A-Z]=-?\d+(?:\.\d+)?)+))
    (?:\*(?<checksum>\h{2}))?
  \z/x

  attr_reader :number, :values

  # `unchecked` has the numbers of the gauges that may leave out the checksum.
  def self.parse(line, unchecked: [])
    match = FORMAT.match(line) or raise Malformed, "not a gauge line: #{line.inspect}"
    if match[:checksum]
      verify(match[:body], match[:checksum])
    elsif !unchecked.include?(match[:number])
      raise Malformed, "no checksum: #{line.inspect}"
    end
    values = match[:values].delete_prefix(",").split(",").to_h do |part|
      name, value = part.split("=")
      [name, Float(value)]
    end
    new(match[:number], values)
  end

  def self.verify(body, checksum)
    return if body.each_byte.reduce(:^) == checksum.hex

    raise Malformed, "wrong checksum #{checksum} for #{body.inspect}"
  end
  private_class_method :verify

  def initialize(number, values)
    @number = number
    @values = values.freeze
  end
end
