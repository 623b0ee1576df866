# frozen_string_literal: true

require "date"

# An invoice that was sent to a customer. Amounts are in cents.
Invoice = Struct.new(:number, :customer, :cents, :due_on, :paid_on, keyword_init: true) do
  def open?
    paid_on.nil?
  end

  def days_overdue(today)
    [(today - due_on).to_i, 0].max
  end
end
