# frozen_string_literal: true

# A line as the river gauges send it: `$G07,L=184,T=12.5`, i.e. the gauge's
# number and then its values (L: level in cm, T: water temperature in °C).
class GaugeLine
  class Malformed < StandardError; end

  FORMAT = /\A\$G(?<number>\d{2})(?<values>(?:,[A-Z]=-?\d+(?:\.\d+)?)+)\z/

  attr_reader :number, :values

  def self.parse(line)
    match = FORMAT.match(line) or raise Malformed, "not a gauge line: #{line.inspect}"
    values = match[:values].delete_prefix(",").split(",").to_h do |part|
      name, value = part.split("=")
      [name, Float(value)]
    end
    new(match[:number], values)
  end

  def initialize(number, values)
    @number = number
    @values = values.freeze
  end
end
