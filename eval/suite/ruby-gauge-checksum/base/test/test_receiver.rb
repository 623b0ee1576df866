# frozen_string_literal: true

require "minitest/autorun"
require "stringio"
require_relative "../lib/receiver"

class ReceiverTest < Minitest::Test
  def receive(*lines)
    @receiver = Receiver.new(StringIO.new(lines.join("\r\n")))
    seen = []
    @receiver.each { |line| seen << [line.number, line.values] }
    seen
  end

  def test_values
    assert_equal [["07", { "L" => 184.0, "T" => -0.5 }]], receive("$G07,L=184,T=-0.5")
  end

  def test_noise_is_counted
    assert_equal [["07", { "L" => 184.0 }]], receive("$G07,L=184", "", "$G07,L=", "\xFFG07,L=1", "$G7,L=1")
    assert_equal 3, @receiver.malformed
  end
end
