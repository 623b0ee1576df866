# frozen_string_literal: true

require_relative "gauge_line"

# Reads gauge lines from a radio link and passes them on. Noise can be any bytes,
# so the lines are taken as binary.
class Receiver
  attr_reader :malformed

  # `unchecked`: the numbers of the gauges that send no checksum, e.g. ["03"].
  def initialize(io, unchecked: [])
    @io = io
    @unchecked = unchecked
    @malformed = 0
  end

  def each
    @io.each_line(chomp: true) do |line|
      next if line.empty?

      yield GaugeLine.parse(line.b, unchecked: @unchecked)
    rescue GaugeLine::Malformed
      @malformed += 1
    end
  end
end
