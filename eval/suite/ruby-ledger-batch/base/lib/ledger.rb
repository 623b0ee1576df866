# frozen_string_literal: true

require "pstore"

# The club's accounts. Amounts are whole cents.
class Ledger
  class PostingError < StandardError; end

  Entry = Struct.new(:from, :to, :cents, :text, keyword_init: true)

  def initialize(path)
    @store = PStore.new(path)
    @store.transaction do
      @store[:balances] ||= {}
      @store[:entries] ||= []
    end
  end

  def open_account(name)
    @store.transaction { @store[:balances][name] ||= 0 }
  end

  def balance(name)
    @store.transaction(true) { @store[:balances].fetch(name) }
  end

  def entries
    @store.transaction(true) { @store[:entries] }
  end

  # Posts the entries in their order, all or none of them.
  def post_all(entries)
    @store.transaction do
      entries.each { |entry| post(entry) }
    end
  end

  private

  # Within a transaction.
  def post(entry)
    balances = @store[:balances]
    raise PostingError, "amount must be positive" unless entry.cents.positive?

    [entry.from, entry.to].each do |name|
      raise PostingError, "no account #{name}" unless balances.key?(name)
    end
    balances[entry.from] -= entry.cents
    balances[entry.to] += entry.cents
    @store[:entries] << entry
  end
end
