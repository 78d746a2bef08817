// Puts a server on stdio behind WebSocket, a process for each client: a message is a line. It says
// where it listens. Its arguments are the command line of the server.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { WebSocketServer } from "ws";

const [command, ...args] = process.argv.slice(2);
const sockets = new WebSocketServer({ host: "127.0.0.1", port: 0 });
sockets.on("listening", () => console.log(`127.0.0.1:${sockets.address().port}`));
sockets.on("connection", (socket) => {
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: server.stdout }).on("line", (line) => socket.send(line));
  socket.on("message", (message) => server.stdin.write(`${message}\n`));
  socket.on("close", () => server.kill());
  server.on("exit", () => socket.close());
});
