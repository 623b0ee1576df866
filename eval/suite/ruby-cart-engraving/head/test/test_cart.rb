# frozen_string_literal: true

require "minitest/autorun"
require_relative "../lib/cart"

class CartTest < Minitest::Test
  def setup
    @cart = Cart.new({ "mug" => 900, "pen" => 250 })
  end

  def test_same_item_is_one_line
    @cart.add(Item.new("mug", colour: "blue")).add(Item.new("mug", colour: "blue"), 2)
    assert_equal [["mug / blue", 3, 2700]], @cart.lines
  end

  def test_colours_are_separate_lines
    @cart.add(Item.new("mug", colour: "blue")).add(Item.new("mug", colour: "red"))
    assert_equal 2, @cart.lines.size
    assert_equal 1800, @cart.total
  end

  def test_engraving_costs_extra
    @cart.add(Item.new("pen", engraving: "For Kim"), 2)
    assert_equal [["pen “For Kim”", 2, 1400]], @cart.lines
  end

  def test_engraving_length
    assert_raises(ArgumentError) { Item.new("pen", engraving: "") }
    assert_raises(ArgumentError) { Item.new("pen", engraving: "x" * 31) }
  end
end
