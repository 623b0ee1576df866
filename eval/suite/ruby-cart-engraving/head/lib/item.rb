# frozen_string_literal: true

# What can be put into a cart: an article in one colour and size, perhaps with
# a text engraved on it.
class Item
  MAX_ENGRAVING = 30

  attr_reader :sku, :colour, :size, :engraving

  def initialize(sku, colour: nil, size: nil, engraving: nil)
    if engraving && !engraving.length.between?(1, MAX_ENGRAVING)
      raise ArgumentError, "an engraving has 1 to #{MAX_ENGRAVING} characters"
    end

    @sku = sku
    @colour = colour
    @size = size
    @engraving = engraving&.dup&.freeze
    freeze
  end

  def engraved?
    !engraving.nil?
  end

  def ==(other)
    other.is_a?(Item) && sku == other.sku && colour == other.colour && size == other.size
  end
  alias eql? ==

  def hash
    [sku, colour, size].hash
  end

  def to_s
    text = [sku, colour, size].compact.join(" / ")
    engraved? ? "#{text} “#{engraving}”" : text
  end
end
