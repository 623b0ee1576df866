# frozen_string_literal: true

require "minitest/autorun"
require "stringio"
require_relative "../lib/receiver"

class ReceiverTest < Minitest::Test
  def receive(*lines, unchecked: ["07"])
    @receiver = Receiver.new(StringIO.new(lines.join("\r\n")), unchecked: unchecked)
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

  def test_checksum
    seen = [["12", { "L" => 200.0 }]]
    assert_equal seen, receive("$G12,L=200*2B")
    assert_equal seen, receive("$G12,L=200*2b")
  end

  def test_wrong_checksum
    assert_empty receive("$G12,L=185*24", "$G07,L=185*24", "$G12,L=184*", "$G12,L=184*4")
    assert_equal 4, @receiver.malformed
  end

  def test_missing_checksum
    assert_empty receive("$G12,L=184")
    assert_equal 1, @receiver.malformed
  end
end
