# frozen_string_literal: true

require_relative "item"

# Items and how many of each, in the order in which they were first added.
class Cart
  def initialize(prices)
    @prices = prices # cents by sku
    @counts = Hash.new(0)
  end

  def add(item, count = 1)
    raise ArgumentError, "count must be positive" unless count.positive?
    raise ArgumentError, "unknown article #{item.sku}" unless @prices.key?(item.sku)

    @counts[item] += count
    self
  end

  def remove(item)
    @counts.delete(item)
    self
  end

  def lines
    @counts.map { |item, count| [item.to_s, count, price(item) * count] }
  end

  def total
    @counts.sum { |item, count| price(item) * count }
  end

  private

  def price(item)
    @prices.fetch(item.sku)
  end
end
