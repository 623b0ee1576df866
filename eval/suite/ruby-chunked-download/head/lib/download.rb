# frozen_string_literal: true

# Fetches a big file in pieces, because the depot's proxy cuts off answers that
# take longer than a minute.
#
# `client` answers `size(path)` in bytes and `get(path, headers)` with the body;
# both raise IOError when the connection breaks.
class Download
  CHUNK = 8 * 1024 * 1024
  ATTEMPTS = 3

  def initialize(client, chunk: CHUNK)
    @client = client
    @chunk = chunk
  end

  # Writes the file at `path` to `io` and returns the number of bytes. A piece
  # that fails is tried again, up to ATTEMPTS times.
  #
  # With a block, yields the fraction that is done after each piece.
  def copy(path, io)
    size = @client.size(path)
    pieces(size).each do |piece|
      io.write(fetch(path, piece))
      yield piece.end.fdiv(size) if block_given?
    end
    size
  end

  private

  # The byte ranges to fetch, in order and without overlap.
  def pieces(size)
    (0...size).step(@chunk).map { |first| first...[first + @chunk, size].min }
  end

  def fetch(path, piece)
    attempt = 1
    begin
      @client.get(path, { "Range" => "bytes=#{piece.first}-#{piece.last}" })
    rescue IOError
      raise if attempt == ATTEMPTS

      attempt += 1
      retry
    end
  end
end
