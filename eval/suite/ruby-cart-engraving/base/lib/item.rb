# frozen_string_literal: true

# What can be put into a cart: an article in one colour and size.
class Item
  attr_reader :sku, :colour, :size

  def initialize(sku, colour: nil, size: nil)
    @sku = sku
    @colour = colour
    @size = size
    freeze
  end

  def ==(other)
    other.is_a?(Item) && sku == other.sku && colour == other.colour && size == other.size
  end
  alias eql? ==

  def hash
    [sku, colour, size].hash
  end

  def to_s
    [sku, colour, size].compact.join(" / ")
  end
end
