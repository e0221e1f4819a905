// node: server.js PORT-FILE LOG [KEY CERTIFICATE]; lines of LOG as server.py's. With a key: HTTP/2 alone.
const fs = require("fs"), crypto = require("crypto");
const [, , file, log, key, certificate] = process.argv;

function answer(request, response) {
  const parts = [];
  request.on("error", () => {});
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts), host = request.headers[":authority"] || request.headers.host || "";
    // Parsers of node 20.19 take QUERY, for which it has no name: natively so, too.
    const line = [request.method || "QUERY", request.url, host, body.length, crypto.createHash("sha256").update(body).digest("hex").slice(0, 8)];
    fs.appendFileSync(log, line.join("\t") + "\n");
    response.end(`served ${request.method} ${request.url}\n`);
  });
}

const server = key
  ? require("http2").createSecureServer({ key: fs.readFileSync(key), cert: fs.readFileSync(certificate) }, answer)
  : require("http").createServer(answer);
server.on("upgrade", (request, socket) => {
  fs.appendFileSync(log, [request.method, request.url, request.headers.host, 0, "-"].join("\t") + "\n");
  socket.on("error", () => {});
  socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  socket.pipe(socket);
});
server.on("sessionError", () => {});
server.on("clientError", (error, socket) => socket.writable && socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"));
server.listen(0, "127.0.0.1", () => {
  fs.writeFileSync(file + ".new", server.address().port + "\n");
  fs.renameSync(file + ".new", file);
});
