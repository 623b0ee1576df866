# frozen_string_literal: true

require_relative "invoice"

# Decides which customers get a reminder today.
class Reminders
  GRACE_DAYS = 5
  REPEAT_DAYS = 14

  def initialize(invoices)
    @invoices = invoices
  end

  # The open invoices that are to be reminded of on the given day.
  def due(today)
    @invoices.select do |invoice|
      next false unless invoice.open?

      days = invoice.days_overdue(today)
      days >= GRACE_DAYS && ((days - GRACE_DAYS) % REPEAT_DAYS).zero?
    end
  end

  def text(invoice, today)
    days = invoice.days_overdue(today)
    amount = format("%d.%02d", *invoice.cents.divmod(100))
    "Invoice #{invoice.number} over #{amount} has been due for #{days} days."
  end
end
